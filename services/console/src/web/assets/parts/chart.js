import { dateTime } from '../lib/format.js';
import { html, uPlot, useState } from '../lib/vendor.js';
import { ChartTable } from './chart-table.js';
import { axisStyle, timeLabels, token, usePlot } from './plot.js';

/** @typedef {import('./chart-table.js').Series} Series */

const HEIGHT = 240;
/** Colors of the series; those behind them share the last one. */
const COLORS = 6;
/** The steps of the value axis: whole ones, because there is no half of a task. */
const STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** The share of its time that a bar takes, and its greatest width. */
const BAR = { share: 0.8, most: 48 };

/** @param {number} at */
const colorOf = (at) => `--series-${Math.min(at + 1, COLORS)}`;

/**
 * Stacked bars over time, with a legend, which has the figures of the bar under the pointer, and with all figures as a table.
 * @param {{title: string, times: readonly string[], stepS: number, series: readonly Series[], format: (value: number) => string}} props
 */
export function StackedBars({ title, times, stepS, series, format }) {
  const data = stack(times, series);
  const key = `${series.map(({ name }) => name).join('\n')} ${stepS}`;
  const { holder, timeAt } = usePlot({
    ...{ height: HEIGHT, key, data },
    options: (width) => options(width, series, stepS, format),
  });
  const [pointed, setPointed] = useState(/** @type {number | null} */ (null));
  const time = pointed === null ? undefined : times[pointed];
  const point = (/** @type {PointerEvent} */ event) =>
    setPointed(barAt(data[0] ?? [], timeAt(event) ?? Number.NaN, stepS));

  return html`<figure class="figure-chart" aria-label=${title}>
    <ul class="legend">
      ${series.map(({ name, values }, at) => html`<li key=${name}><span class="swatch" aria-hidden="true" style=${{ background: `var(${colorOf(at)})` }}></span>${name}<span class="num">${time === undefined ? '' : format(values[pointed ?? 0] ?? 0)}</span></li>`)}
      <li class="num">${time === undefined ? '' : dateTime(time)}</li>
    </ul>
    <div class="chart" aria-hidden="true" onPointerMove=${point} onPointerLeave=${() => setPointed(null)}><div ref=${holder}></div></div>
    <${ChartTable} title=${title} first="From" times=${times} series=${series} format=${format} />
  </figure>`;
}

/**
 * The number of the bar that a time is in.
 * @param {readonly number[]} starts In seconds.
 * @param {number} time
 * @param {number} stepS
 */
function barAt(starts, time, stepS) {
  const at = starts.findIndex((start) => time >= start && time < start + stepS);
  return at === -1 ? null : at;
}

/**
 * The sums from the bottom: each series is drawn before those below it, so the first one ends in front.
 * @param {readonly string[]} times
 * @param {readonly Series[]} series
 */
function stack(times, series) {
  const sums = times.map(() => 0);
  const layers = series.map(({ values }) => values.map((value, at) => (sums[at] = (sums[at] ?? 0) + value)));
  return [times.map((at) => Date.parse(at) / 1_000), ...layers.reverse()];
}

/**
 * @param {number} width
 * @param {readonly Series[]} series
 * @param {number} stepS
 * @param {(value: number) => string} format
 */
function options(width, series, stepS, format) {
  const axis = axisStyle();
  const paths = uPlot.paths.bars?.({ size: [BAR.share, BAR.most], align: 1 });
  const drawn = series.map(({ name }, at) => {
    const color = token(colorOf(at));
    return { label: name, fill: color, stroke: color, width: 0, paths, points: { show: false } };
  });
  return /** @type {any} */ ({
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    // The whole of the last bar is inside.
    scales: {
      x: {
        range: (/** @type {unknown} */ _plot, /** @type {number} */ min, /** @type {number} */ max) => [
          min,
          max + stepS,
        ],
      },
      y: {
        range: (/** @type {unknown} */ _plot, /** @type {number} */ _min, /** @type {number} */ max) => [
          0,
          max > 0 ? max * 1.05 : 1,
        ],
      },
    },
    axes: [
      { ...axis, values: timeLabels },
      {
        ...axis,
        size: 64,
        incrs: STEPS,
        values: (/** @type {unknown} */ _plot, /** @type {number[]} */ ticks) => ticks.map(format),
      },
    ],
    series: [{}, ...drawn.reverse()],
  });
}
