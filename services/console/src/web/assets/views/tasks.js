import { consoleNow, query } from '../lib/api.js';
import { compact, counted, UNKNOWN, words } from '../lib/format.js';
import { useResource } from '../lib/hooks.js';
import { href, taskHref } from '../lib/router.js';
import { html } from '../lib/vendor.js';
import { Ago, Elapsed, State, Tokens } from '../parts/basics.js';
import { Empty, Loaded } from '../parts/notices.js';
import { sinceOf } from '../parts/range.js';
import { StateTabs, TasksFilters } from './tasks-filters.js';

const PAGE = 50;
const FILTERS = ['state', 'profile', 'peer', 'caller', 'reason', 'priority', 'q', 'parts'];

/** The list of tasks over the whole fleet. @param {{place: import('../lib/router.js').Place}} props */
export function TasksView({ place }) {
  const { params } = place;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, params[name]]));
  const since = sinceOf(params['since'], consoleNow());
  const path = `/api/tasks${query({ ...filters, since, cursor: params['cursor'], limit: PAGE })}`;
  const tasks = useResource(path, ['tasks']);
  const filtered = since !== null || FILTERS.some((name) => params[name]);
  return html`<div class="view-head"><h1>Tasks</h1></div>
    <${StateTabs} place=${place} states=${tasks.data?.states ?? null} />
    <${TasksFilters} place=${place} />
    <${Loaded} resource=${tasks} label="the tasks" rows=${12}>
      ${(/** @type {import('../../../http/task-list.ts').TasksDocument} */ document) =>
        document.tasks.length === 0
          ? html`<${NoTasks} filtered=${filtered} />`
          : html`<${TaskTable} tasks=${document.tasks} busy=${tasks.pending} /><${Pages} place=${place} document=${document} />`}
    </${Loaded}>`;
}

/** @param {{filtered: boolean}} props */
const NoTasks = ({ filtered }) =>
  filtered
    ? html`<${Empty} title="No task matches.">Search and filters hold together. <a href=${href(['tasks'])}>Show all tasks</a>.</${Empty}>`
    : html`<${Empty} title="No task yet."><a href=${href(['send'])}>Send one</a>, or run <code>./fleet send "Write a haiku into haiku.txt"</code>. It appears here at once.</${Empty}>`;

/** @param {{tasks: readonly import('../../../http/task-row.ts').TaskRow[], busy?: boolean}} props */
export const TaskTable = ({ tasks, busy = false }) =>
  html`<table class=${`grid cards tasks${busy ? ' busy' : ''}`} aria-busy=${busy}>
    <caption class="hidden">Tasks, newest first</caption>
    <thead>
      <tr>
        <th scope="col" class="c-state">State</th>
        <th scope="col" class="c-task">Task</th>
        <th scope="col" class="c-peer">Peer and tool</th>
        <th scope="col" class="c-bar">Tokens of budget</th>
        <th scope="col" class="c-bar c-elapsed">Elapsed of deadline</th>
        <th scope="col" class="c-priority">Priority</th>
        <th scope="col" class="c-age num">Sent</th>
      </tr>
    </thead>
    <tbody>
      ${tasks.map((task) => html`<${Row} key=${`${task.profile}/${task.id}`} task=${task} />`)}
    </tbody>
  </table>`;

/** @param {{task: import('../../../http/task-row.ts').TaskRow}} props */
const Row = ({ task }) =>
  html`<tr>
    <td class="c-state"><${State} state=${task.state} />${task.reason === null || task.reason === task.state ? null : html`<span class="sub">${words(task.reason)}</span>`}</td>
    <th scope="row" class="c-task">
      <a data-row href=${taskHref(task)} title=${task.task_id}>${task.task_id}</a>
      <span class="sub">${task.caller} at ${task.profile}</span>
    </th>
    <td class="c-peer"><span>${task.peer ?? UNKNOWN}</span><span class="sub">${peerNote(task)}</span></td>
    <td class="c-bar"><${Tokens} task=${task} format=${compact} /></td>
    <td class="c-bar c-elapsed"><${Elapsed} task=${task} /></td>
    <td class="c-priority">${task.priority ?? UNKNOWN}</td>
    <td class="c-age num"><${Ago} at=${task.submitted_at} suffix="" /></td>
  </tr>`;

/** @param {import('../../../http/task-row.ts').TaskRow} task */
function peerNote({ ended_at, tool, reroutes }) {
  if (tool !== null && ended_at === null) return tool;
  return reroutes > 0 ? `rerouted ${reroutes === 1 ? 'once' : `${reroutes} times`}` : '';
}

/** @param {{place: import('../lib/router.js').Place, document: import('../../../http/task-list.ts').TasksDocument}} props */
const Pages = ({ place, document }) =>
  html`<nav class="pages" aria-label="Pages of tasks">
    <span>${document.total_is_exact ? '' : 'more than '}${counted(document.total, 'task')}</span>
    ${place.params['cursor'] ? html`<a href=${href(['tasks'], { ...place.params, cursor: null })}>Newest</a>` : null}
    ${document.next_cursor === null ? null : html`<a href=${href(['tasks'], { ...place.params, cursor: document.next_cursor })}>Older</a>`}
  </nav>`;
