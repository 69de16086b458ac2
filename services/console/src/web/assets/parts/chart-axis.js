import { dateTime } from '../lib/format.js';

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
