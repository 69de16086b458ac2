import { go, href } from '../lib/router.js';
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
 * A choice of the span; it is kept in the address. With `all`, also everything that is known.
 * @param {{place: import('../lib/router.js').Place, fallback: string, all?: boolean}} props
 */
export const Range = ({ place, fallback, all = false }) =>
  html`<label class="field"><span>Time</span>
    <select value=${place.params['since'] ?? fallback} onChange=${(/** @type {any} */ event) =>
      go(href(place.path, { ...place.params, since: event.target.value, cursor: null }), { replace: true })}>
      ${RANGES.map(([value, name]) => html`<option key=${value} value=${value}>${name}</option>`)}
      ${all ? html`<option value="all">All that is known</option>` : null}
    </select>
  </label>`;
