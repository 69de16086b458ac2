import { dateTime } from '../lib/format.js';
import { html } from '../lib/vendor.js';

/**
 * @typedef {object} Series
 * @property {string} name
 * @property {readonly number[]} values One for each time.
 * @property {(value: number) => string} [format] In place of that of the table.
 */

/**
 * The figures of a chart. @param {{title: string, first: string, times: readonly string[], series: readonly Series[], format: (value: number) => string}} props
 */
export const ChartTable = ({ title, first, times, series, format }) =>
  html`<details class="chart-table">
    <summary>As a table</summary>
    <div class="scroll" tabindex="0" role="group" aria-label=${`${title}, as a table`}>
      <table class="grid">
        <caption class="hidden">${title}</caption>
        <thead><tr><th scope="col">${first}</th>${series.map(({ name }) => html`<th key=${name} scope="col" class="num">${name}</th>`)}</tr></thead>
        <tbody>
          ${times.map(
            (at, row) => html`<tr key=${at}><th scope="row"><time datetime=${at}>${dateTime(at)}</time></th>
              ${series.map(({ name, values, format: own = format }) => html`<td key=${name} class="num">${own(values[row] ?? 0)}</td>`)}</tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
