import { TASK_EVENTS } from '/assets/lib/task-states-and-events.js';

/**
 * Which events a timeline shows at first, and how they stand out.
 *
 * @typedef {import('../../../http/task-page.ts').TimelineEntry} Entry
 */

/** @param {Entry} entry @returns {'bad' | 'warn' | 'main' | 'step'} */
export function levelOf({ type, data }) {
  const { level } = TASK_EVENTS[type];
  if (
    level !== 'bad' &&
    (data['ok'] === false || data['guard'] !== undefined || data['outcome'] !== undefined)
  )
    return 'warn';
  return level;
}

/** @param {Entry} entry */
const callOf = ({ profile, id, data }) => `${profile} ${id} ${data['tool']}`;

/**
 * Leaves out what is told twice: the begin of a tool call that has ended, and what a relay repeats of a peer whose own
 * events are in the timeline.
 * @param {readonly Entry[]} entries The oldest first.
 * @returns {Entry[]}
 */
export function condensed(entries) {
  const voices = new Set(entries.map(({ profile }) => profile));
  /** @type {Map<string, number>} */
  const ended = new Map();
  const kept = entries.filter(({ type, profile, data }) => {
    const peer = data['peer'];
    const isEcho =
      type === 'progress' && typeof peer === 'string' && peer !== profile && data['outcome'] === undefined;
    return !(isEcho && voices.has(peer));
  });
  return kept
    .toReversed()
    .filter((entry) => {
      if (entry.type !== 'progress' || typeof entry.data['tool'] !== 'string') return true;
      const call = callOf(entry);
      const open = ended.get(call) ?? 0;
      if (entry.data['phase'] === 'ended') ended.set(call, open + 1);
      if (entry.data['phase'] !== 'started' || open === 0) return true;
      ended.set(call, open - 1);
      return false;
    })
    .toReversed();
}
