import { dateTime } from '../lib/format.js';
import { html, uPlot, useRef, useState } from '../lib/vendor.js';
import { Marks } from './chart-marks.js';
import { axisStyle, timeLabels, token, usePlot } from './plot.js';

/** @typedef {import('./chart-marks.js').Mark} Mark */

const HEIGHT = { full: 240, low: 150 };
/** Room above and below the line, as a share of its height. */
const ROOM = 0.06;
/** A line over no time has this much of it, in seconds. */
const LEAST_S = 60;
/** @param {number} value */
const plain = (value) => value.toLocaleString('en', { maximumSignificantDigits: 6 });
/** The color of an area is that of its line with this opacity. */
const AREA = '33';

/**
 * A line over time, with marks on it. The legend has the figure under the pointer. What the chart shows must also be in tables beside
 * it, because the chart is a picture. `span` is the time from its left to its right edge. A line that `hangs` is the part of something
 * that is missing: an area from 0 at the top. `tick` writes the figures of the axis.
 * @param {{title: string, name: string, times: readonly string[], values: readonly number[], format: (value: number) => string,
 *   tick?: (value: number) => string, span: readonly [from: number, to: number], color: string, hangs?: boolean, marks?: readonly Mark[], legend?: any}} props
 */
export function LineChart(props) {
  const { title, name, times, values, format, tick = plain, span, color } = props;
  const { hangs = false, marks = [], legend = null } = props;
  const [frame, setFrame] = useState(/** @type {import('./chart-marks.js').Frame | null} */ (null));
  const [pointed, setPointed] = useState(/** @type {number | null} */ (null));
  const data = [times.map((at) => Date.parse(at) / 1_000), values];
  const shape = { data, span: wide(span), range: rangeOf(values, marks, hangs) };
  const latest = useRef(shape);
  latest.current = shape;
  const height = hangs ? HEIGHT.low : HEIGHT.full;
  const time = pointed === null ? undefined : times[pointed];
  const { holder, timeAt } = usePlot({
    ...{ height, data, drawn: shape, key: `${color} ${hangs}` },
    options: (width) => options({ width, height, color, hangs, tick, latest, drawn: (now) => setFrame(now) }),
  });
  const point = (/** @type {PointerEvent} */ event) => {
    const at = timeAt(event);
    setPointed(at === null ? null : nearest(data[0] ?? [], at));
  };
  return html`<figure class="figure-chart" aria-label=${title}>
    <ul class="legend">
      <li><span class="swatch" aria-hidden="true" style=${{ background: `var(${color})` }}></span>${name}<span class="num">${time === undefined ? '' : format(values[pointed ?? 0] ?? 0)}</span></li>
      ${legend}
      <li class="num">${time === undefined ? '' : dateTime(time)}</li>
    </ul>
    <div class=${`chart${hangs ? ' chart-low' : ''}`} aria-hidden="true" onPointerMove=${point} onPointerLeave=${() => setPointed(null)}>
      <div ref=${holder}></div>
      ${frame === null || marks.length === 0 ? null : html`<${Marks} frame=${frame} marks=${marks} />`}
    </div>
  </figure>`;
}

/** @param {readonly [number, number]} span @returns {readonly [number, number]} */
const wide = ([from, to]) => (to - from < LEAST_S ? [from - LEAST_S / 2, to + LEAST_S / 2] : [from, to]);

/**
 * The values from the bottom to the top.
 * @param {readonly number[]} values
 * @param {readonly Mark[]} marks
 * @param {boolean} hangs
 * @returns {readonly [number, number]}
 */
function rangeOf(values, marks, hangs) {
  const all = [...values, ...marks.flatMap(({ value }) => (value === null ? [] : [value]))];
  const [low, high] = all.length === 0 ? [0, 1] : [Math.min(...all), Math.max(...all)];
  if (hangs) return [0, high > 0 ? high * (1 + ROOM) : 0.01];
  const room = (high - low) * ROOM || Math.abs(high) * ROOM || 1;
  return [low - room, high + room];
}

/**
 * The number of the time that is closest.
 * @param {readonly number[]} times In order.
 * @param {number} time
 */
function nearest(times, time) {
  if (times.length === 0) return null;
  const after = times.findIndex((each) => each >= time);
  if (after === -1) return times.length - 1;
  const [before = 0, next = 0] = [times[after - 1], times[after]];
  return after > 0 && time - before < next - time ? after - 1 : after;
}

/**
 * @param {{width: number, height: number, color: string, hangs: boolean, tick: (value: number) => string,
 *   latest: {current: {data: readonly (readonly number[])[], span: readonly [number, number], range: readonly [number, number]}},
 *   drawn: (frame: import('./chart-marks.js').Frame) => void}} of
 */
function options({ width, height, color, hangs, tick, latest, drawn }) {
  const stroke = token(color);
  const axis = axisStyle();
  return /** @type {any} */ ({
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: () => latest.current.span },
      y: { range: () => latest.current.range, dir: hangs ? -1 : 1 },
    },
    axes: [
      { ...axis, values: timeLabels },
      {
        ...axis,
        size: 64,
        values: (/** @type {unknown} */ _plot, /** @type {number[]} */ ticks) => ticks.map((at) => tick(at)),
      },
    ],
    series: [
      {},
      {
        stroke,
        width: 1.5,
        ...(hangs ? { fill: `${stroke}${AREA}` } : {}),
        // A line of one point is not to be seen.
        points: { show: () => (latest.current.data[0]?.length ?? 0) < 2 },
      },
    ],
    hooks: {
      draw: [
        (/** @type {any} */ { bbox, scales: { x, y } }) => {
          const ratio = uPlot.pxRatio;
          const [left, top] = [bbox.left / ratio, bbox.top / ratio];
          const size = { left, top, width: bbox.width / ratio, height: bbox.height / ratio };
          drawn({ ...size, from: x.min ?? 0, to: x.max ?? 1, low: y.min ?? 0, high: y.max ?? 1 });
        },
      ],
    },
  });
}
