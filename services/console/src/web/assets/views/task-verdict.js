import { counted, words } from '../lib/format.js';
import { href } from '../lib/router.js';
import { html } from '../lib/vendor.js';

/** @typedef {import('../../../http/task-page.ts').TaskDocument} TaskDocument */

/** What keeps a task from its end, or ended it before its work was done, in one sentence at the top. @param {{document: TaskDocument}} props */
export function Verdict({ document }) {
  const { task } = document;
  if (task.state === 'blocked') {
    const unmet = unmetOf(document);
    const others = href(['tasks'], { state: 'blocked', reason: task.reason });
    return html`<div class="notice notice-warn"><p>Blocked before a token was spent.${unmet.length === 0 ? '' : ` Unmet: ${unmet.join(', ')}.`}${' '}
      ${task.reason === null ? null : html`<a href=${others}>All tasks blocked by ${words(task.reason)}</a>`}</p></div>`;
  }
  if (task.state === 'error')
    return html`<div class="notice notice-bad"><p>Ended with an error${task.reason === null ? '' : `: ${words(task.reason)}`}.</p></div>`;
  if (task.state === 'waiting')
    return html`<div class="notice"><p>Waits: no worker can take it now. It goes on by itself when one can, until its deadline.</p></div>`;
  if (task.reroutes > 0 && task.state === 'running')
    return html`<div class="notice"><p>Rerouted ${counted(task.reroutes, 'time')}: the timeline says why.</p></div>`;
  return null;
}

/** The unmet requirements, as the event that ended the task names them. @param {TaskDocument} document @returns {string[]} */
function unmetOf({ task, timeline }) {
  const end = timeline.findLast(
    ({ type, id, profile }) => type === 'blocked' && id === task.id && profile === task.profile,
  );
  const unmet = end?.data['unmet'];
  return Array.isArray(unmet)
    ? unmet.map(({ kind, name }) => `${words(String(kind))} ${String(name ?? '')}`.trim())
    : [];
}
