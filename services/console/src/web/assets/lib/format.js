/** How figures, times and names are written. Whoever reads aloud or copies them gets the same words as whoever sees them. */

const WHOLE = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', {
  notation: 'compact',
  maximumFractionDigits: 1,
  minimumFractionDigits: 0,
});
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });

/** What stands for a value that the console does not know. */
export const UNKNOWN = '–';

/** @param {number | null | undefined} count */
export const whole = (count) => (count === null || count === undefined ? UNKNOWN : WHOLE.format(count));

/** Exact below 10,000, then with three digits. @param {number | null | undefined} count */
export const compact = (count) =>
  count === null || count === undefined
    ? UNKNOWN
    : count < 10_000
      ? WHOLE.format(count)
      : COMPACT.format(count);

/** @param {number} part @param {number} all */
export const percent = (part, all) => (all === 0 ? UNKNOWN : PERCENT.format(part / all));

/** @param {number | null | undefined} amount @param {string | null} [currency] */
export function money(amount, currency = null) {
  if (amount === null || amount === undefined) return UNKNOWN;
  const digits = amount !== 0 && Math.abs(amount) < 0.1 ? 4 : 2;
  const text = amount.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return currency === null ? text : `${text} ${currency}`;
}

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return UNKNOWN;
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Two units at most: `3 min 12 s`. @param {number} ms @returns {string} */
export function duration(ms) {
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const s = Math.floor(ms / 1_000);
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
}

/**
 * One unit, in whole steps, so that a column of ages does not jump.
 * @param {number} ms
 * @param {(count: number) => number} [whole] An age is told in units that are over, a limit in the nearest one.
 */
export function age(ms, whole = Math.floor) {
  const s = Math.max(0, whole(ms / 1_000));
  if (s < 60) return `${s} s`;
  if (whole(s / 60) < 60) return `${whole(s / 60)} min`;
  if (whole(s / 3_600) < 24) return `${whole(s / 3_600)} h`;
  return `${whole(s / 86_400)} d`;
}

/** @param {number} value */
const two = (value) => String(value).padStart(2, '0');

/** The local date and time. @param {string} iso */
export function dateTime(iso) {
  const at = new Date(iso);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(iso)}`;
}

/** The local time of day. @param {string} iso */
export function clock(iso) {
  const at = new Date(iso);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A code as words: `risk_mode` is `risk mode`. @param {string} code */
export const words = (code) => code.replaceAll('_', ' ');

/** Names `1 task`, `2 tasks`. @param {number} count @param {string} noun */
export const counted = (count, noun) => `${whole(count)} ${noun}${count === 1 ? '' : 's'}`;
