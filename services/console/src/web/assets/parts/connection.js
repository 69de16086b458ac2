import { announce } from '../lib/announce.js';
import { age, counted, dateTime } from '../lib/format.js';
import { useNow } from '../lib/hooks.js';
import { useLive } from '../lib/live.js';
import { html, useEffect, useRef } from '../lib/vendor.js';

/**
 * What the page knows of the fleet, in one word and one sentence.
 * @typedef {object} Knowledge
 * @property {'connecting' | 'live' | 'behind' | 'stale' | 'bus-away' | 'console-away'} kind
 * @property {string} short
 * @property {string | null} advice A sentence for a notice; null when all is well.
 */

/** Events that may wait without a word: a burst of a second. */
const BEHIND = 500;

/**
 * @param {import('../lib/live.js').Live} live
 * @param {number} now by the console's clock
 * @returns {Knowledge}
 */
export function knowledge({ connection, status }, now) {
  if (connection === 'lost')
    return {
      kind: 'console-away',
      short: 'Console away',
      advice:
        'The console does not answer. What you see is from before that; it continues by itself when the console is back.',
    };
  if (status === null) return { kind: 'connecting', short: 'Connecting', advice: null };
  const times = [status.last_event_at, status.last_announce_at]
    .filter((at) => at !== null)
    .map((at) => Date.parse(at));
  const newest = times.length === 0 ? null : Math.max(...times);
  const silence = newest === null ? null : now - newest;
  if (!status.bus.connected)
    return {
      kind: 'bus-away',
      short: 'NATS away',
      advice: `The console has no connection to NATS${status.bus.reason ? ` (${status.bus.reason})` : ''}. Tasks go on, and their events arrive here when it is back. What you see is from ${silence === null ? 'before that' : `${age(silence)} ago`}.`,
    };
  if (status.behind !== null && status.behind > BEHIND)
    return {
      kind: 'behind',
      short: 'Catching up',
      advice: `The console is still reading ${status.behind.toLocaleString('en')} events. Counts grow until it is done.`,
    };
  if (silence === null)
    return {
      kind: 'stale',
      short: 'No events',
      advice:
        'The console has not seen any event yet. Is a profile of the fleet running? "fleet doctor" says what is missing.',
    };
  if (silence > status.stale_after_s * 1_000)
    return {
      kind: 'stale',
      short: `No events for ${age(silence)}`,
      advice: `No profile has said anything for ${age(silence)}, although each announces itself every 30 s. States may be out of date. "fleet doctor" says what is wrong.`,
    };
  return { kind: 'live', short: 'Live', advice: null };
}

const SPOKEN = {
  connecting: '',
  live: 'The view is live.',
  behind: 'The console is catching up with events.',
  stale: 'No events arrive. The view may be out of date.',
  'bus-away': 'The console has lost NATS. The view may be out of date.',
  'console-away': 'The console does not answer. The view may be out of date.',
};

/** The word in the header. */
export function ConnectionBadge() {
  const { kind, short } = knowledge(useLive(), useNow());
  const last = useRef('connecting');
  useEffect(() => {
    if (last.current !== kind && !(last.current === 'connecting' && kind === 'live')) announce(SPOKEN[kind]);
    last.current = kind;
  }, [kind]);
  return html`<span class=${`badge badge-${kind}`} data-status=${kind}><span class="mark" aria-hidden="true"></span><span class="badge-text">${short}</span></span>`;
}

/** The sentence above the view. */
export function ConnectionNotice() {
  const { kind, advice } = knowledge(useLive(), useNow());
  return advice === null
    ? null
    : html`<div class=${`notice ${kind === 'behind' ? '' : 'notice-warn'}`} data-notice=${kind}><p>${advice}</p></div>`;
}

/** What the console does not know: how far back it reaches, and what it left out. */
export function Reach() {
  const { status } = useLive();
  const since = status?.reaches_back_to ?? null;
  if (status === null || since === null) return html`<footer class="reach"></footer>`;
  return html`<footer class="reach">
    <span>Knows events since <time datetime=${since}>${dateTime(since)}</time>.</span>
    ${status.rebuilt_at === null ? null : html`<span>Made anew at <time datetime=${status.rebuilt_at}>${dateTime(status.rebuilt_at)}</time>.</span>`}
    ${status.missed_at === null ? null : html`<span class="reach-gap">Events had expired on NATS before they were read, found at ${dateTime(status.missed_at)}: sums are too low.</span>`}
    ${status.skipped === 0 ? null : html`<span class="reach-gap">${counted(status.skipped, 'message')} could not be read as events.</span>`}
  </footer>`;
}
