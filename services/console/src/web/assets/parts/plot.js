import { dateTime } from '../lib/format.js';
import { useTheme } from '../lib/theme.js';
import { uPlot, useEffect, useRef } from '../lib/vendor.js';

/** @param {string} name of a color. */
export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** How the axes of all charts look, in the theme of now. */
export const axisStyle = () => ({
  stroke: token('--muted'),
  grid: { stroke: token('--line'), width: 1 },
  ticks: { stroke: token('--line'), width: 1, size: 4 },
  font: '12px system-ui, sans-serif',
});

/**
 * The times below a chart, with the date below the first one and where it changes; with seconds where they are closer than a minute.
 * @param {unknown} _plot
 * @param {readonly number[]} ticks In seconds.
 * @param {number} _axis
 * @param {number} _space
 * @param {number} step In seconds.
 */
export function timeLabels(_plot, ticks, _axis, _space, step) {
  let date = '';
  return ticks.map((tick) => {
    const [day = '', time = ''] = dateTime(new Date(tick * 1_000).toISOString()).split(' ');
    const changed = day !== date;
    date = day;
    return `${time.slice(0, step < 60 ? 8 : 5)}${changed ? `\n${day.slice(5)}` : ''}`;
  });
}

/**
 * A plot in an element of the page, as wide as that. It is made anew with the theme and when `key` changes.
 * @param {{height: number, key: string, options: (width: number) => unknown, data: readonly (readonly number[])[], drawn?: unknown}} of
 *   `drawn` is what the options read when they draw, beside the data.
 */
export function usePlot({ height, key, options, data, drawn }) {
  const holder = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const theme = useTheme();
  const latest = useRef(data);
  latest.current = data;
  useEffect(() => {
    const element = holder.current;
    if (element === null) return undefined;
    const made = /** @type {any} */ (options(element.clientWidth));
    plot.current = new uPlot(made, /** @type {any} */ (latest.current), element);
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme, key]);
  useEffect(() => {
    plot.current?.setData(data);
  }, [JSON.stringify([data, drawn])]);
  /** The time under the pointer, in seconds; null without a plot. @param {PointerEvent} event */
  const timeAt = ({ clientX }) => {
    if (plot.current === null) return null;
    return Number(plot.current.posToVal(clientX - plot.current.over.getBoundingClientRect().left, 'x'));
  };
  return { holder, timeAt };
}
