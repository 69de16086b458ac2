import { changeParams } from '../lib/router.js';
import { html } from '../lib/vendor.js';

/** The spans of time that a view can show, by the value in its address; `all` has no beginning. */
const RANGES = /** @type {const} */ ([
  ['1h', 'Last hour', 3_600_000],
  ['24h', 'Last day', 86_400_000],
  ['7d', 'Last week', 604_800_000],
  ['30d', 'Last 30 days', 2_592_000_000],
]);

/** Beginnings move in steps of this share of the span, so that an address of the API holds for a while. */
const STEPS = 120;

/**
 * The beginning of a span.
 * @param {string | undefined} range
 * @param {number} now
 * @returns {string | null} Null for everything that is known.
 */
export function sinceOf(range, now) {
  const found = RANGES.find(([value]) => value === range);
  if (!found) return null;
  const step = found[2] / STEPS;
  return new Date(Math.floor(now / step) * step - found[2]).toISOString();
}

/**
 * A choice among values with their names.
 * @param {{label: string, value: string | null, options: readonly (readonly [value: string, name: string, ...unknown[]])[], choose: (value: string) => void}} props
 */
export const Choice = ({ label, value: chosen, options, choose }) =>
  html`<label class="field"><span>${label}</span>
    <select value=${chosen} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
      ${options.map(([value, name]) => html`<option key=${value} value=${value} selected=${value === chosen}>${name}</option>`)}
    </select>
  </label>`;

/**
 * A choice of the span; it is kept in the address. With `all`, also everything that is known.
 * @param {{place: import('../lib/router.js').Place, fallback: string, all?: boolean}} props
 */
export const Range = ({ place, fallback, all = false }) =>
  html`<${Choice} label="Time" value=${place.params['since'] ?? fallback} options=${all ? [...RANGES, ['all', 'All that is known']] : RANGES}
    choose=${(/** @type {string} */ since) => changeParams(place, { since, cursor: null })} />`;
