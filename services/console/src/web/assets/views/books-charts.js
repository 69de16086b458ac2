import { dateTime, money, words } from '../lib/format.js';
import { html } from '../lib/vendor.js';
import { MarkName } from '../parts/chart-marks.js';
import { ChartTable } from '../parts/chart-table.js';
import { LineChart } from '../parts/line-chart.js';

/**
 * @typedef {import('../../../http/trader-books.ts').BooksDocument} BooksDocument
 * @typedef {import('../parts/chart-marks.js').Mark} Mark
 */

/** @param {number} value */
const price = (value) => String(Number(value.toPrecision(6)));

/** @param {number} value */
const share = (value) => `${(value * 100).toFixed(2)}%`;

/** Price, equity and drawdown over the same time, and one table with all three. @param {{books: BooksDocument}} props */
export function BooksCharts({ books }) {
  const { points, fills, marks } = books;
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return html`<p class="note">No bar in this time.</p>`;
  const times = points.map(({ recorded_at }) => recorded_at);
  const [close, equity, drawdown] = [
    points.map((point) => Number(point.close)),
    points.map((point) => Number(point.equity)),
    points.map((point) => point.drawdown),
  ];
  const drawn = [...marks.map(decisionMark), ...fills.map(fillMark)];
  const ends = [first.recorded_at, last.recorded_at, ...drawn.map(({ at }) => at)].map(
    (at) => Date.parse(at) / 1_000,
  );
  const span = /** @type {const} */ ([Math.min(...ends), Math.max(...ends)]);
  const legend = html`<${MarkName} kind="buy" name="buy" /><${MarkName} kind="sell" name="sell" /><${MarkName} kind="decision" name="decision" />`;
  const of = { times, span };
  return html`<h3>Price</h3>
    <${LineChart} ...${of} title="Price with fills and decisions" name="close" values=${close} format=${price} color="--series-1" marks=${drawn} legend=${legend} />
    <h3>Equity</h3>
    <${LineChart} ...${of} title="Equity" name="equity" values=${equity} format=${money} color="--series-3" />
    <h3>Drawdown from the highest equity of this time</h3>
    <${LineChart} ...${of} title="Drawdown" name="drawdown" values=${drawdown} format=${share} tick=${share} color="--series-4" hangs=${true} />
    <${ChartTable} title="Price, equity and drawdown" first="Recorded" times=${times} format=${price}
      series=${[
        { name: 'Close', values: close },
        { name: 'Equity', values: equity, format: money },
        { name: 'Drawdown', values: drawdown, format: share },
      ]} />`;
}

/** @param {BooksDocument['marks'][number]} decision @returns {Mark} */
const decisionMark = ({ at, decision_id, action, caller }) => ({
  key: decision_id,
  kind: 'decision',
  at,
  value: null,
  title: `${words(action)} by ${caller}, ${dateTime(at)}`,
});

/** @param {BooksDocument['fills'][number]} fill @returns {Mark} */
const fillMark = ({ entry, recorded_at, side, quantity, price: at, name, strategy_id }) => ({
  key: String(entry),
  kind: side,
  at: recorded_at,
  value: Number(at),
  title: `${side} ${quantity} at ${at} by ${name ?? strategy_id}, ${dateTime(recorded_at)}`,
});
