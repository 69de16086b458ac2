import { consoleNow, taskPath } from '../lib/api.js';
import { compact, dateTime, hasEnded, money, UNKNOWN, whole, words } from '../lib/format.js';
import { useNow, useResource } from '../lib/hooks.js';
import { href, taskHref } from '../lib/router.js';
import { useSession } from '../lib/session.js';
import { html, useRef } from '../lib/vendor.js';
import { Ago, Elapsed, Figure, State, Tokens } from '../parts/basics.js';
import { Empty, Loaded, Skeleton } from '../parts/notices.js';
import { TaskActions } from './task-actions.js';
import { Attempts } from './task-attempts.js';
import { Content } from './task-content.js';
import { Timeline } from './task-timeline.js';
import { Tree } from './task-tree.js';

/** @typedef {import('../../../http/api.ts').TaskDocument} TaskDocument */

/** The first event of a task that was just sent arrives within this time. */
const ARRIVAL_MS = 5_000;

/** One task, from its acceptance to its bill. @param {{place: import('../lib/router.js').Place}} props */
export function TaskView({ place }) {
  const [, profile = '', id = ''] = place.path;
  const task = useResource(taskPath(profile, id), ['tasks'], `${profile}/${id}`);
  const back = html`<p class="back"><a href=${href(['tasks'])}>Tasks</a></p>`;
  const opened = useRef(consoleNow());
  const fresh = useNow() - opened.current < ARRIVAL_MS;
  if (task.error?.status === 404 && task.data === null && fresh)
    return html`${back}<${Skeleton} rows=${14} label="Waiting for the first event of the task" />`;
  if (task.error?.status === 404 && task.data === null)
    return html`${back}<${Empty} title="The console does not know this task.">
      It may be older than the retention, or was not at ${profile}. <a href=${href(['tasks'], { q: id })}>Search for it</a>, or ask the
      profile: <code>./fleet task ${id}</code>
    </${Empty}>`;
  return html`${back}<${Loaded} resource=${task} label="the task" rows=${14}>
    ${(/** @type {TaskDocument} */ document) => html`<${Page} document=${document} reload=${task.reload} />`}
  </${Loaded}>`;
}

/** @param {{document: TaskDocument, reload: () => void}} props */
function Page({ document, reload }) {
  const { session } = useSession();
  const { task, tree, parent, trace_id } = document;
  const traceUrl = session?.trace_url ?? null;
  return html`<div class="view-head task-head">
      <h1 class="mono">${task.task_id}</h1>
      <${State} state=${task.state} />
      <${TaskActions} document=${document} reload=${reload} />
    </div>
    <dl class="figures">
      <${Figure} name="Tokens of budget" value=${html`<${Tokens} task=${task} format=${compact} />`} />
      <${Figure} name="Elapsed of deadline" value=${html`<${Elapsed} task=${task} />`} />
      <${Figure} name="Cost" value=${money(task.cost)} note=${task.cost !== null ? null : hasEnded(task.state) ? 'no price for a model of it' : 'not known yet'} />
      <${Figure} name="Sent" value=${html`<${Ago} at=${task.submitted_at} />`} note=${dateTime(task.submitted_at)} />
      <${Figure} name="Peer" value=${task.peer ?? UNKNOWN} note=${task.tool} />
    </dl>
    <dl class="facts">
      <${Fact} name="Caller">${task.caller}</${Fact}>
      <${Fact} name="Entered at">${task.profile}</${Fact}>
      <${Fact} name="ID"><span class="mono">${task.id}</span></${Fact}>
      <${Fact} name="Context"><a class="mono" href=${href(['tasks'], { q: task.context_id })}>${task.context_id}</a></${Fact}>
      <${Fact} name="Priority">${task.priority ?? UNKNOWN}</${Fact}>
      <${Fact} name="Deadline">${task.deadline === null ? 'none' : dateTime(task.deadline)}</${Fact}>
      ${task.reason === null ? null : html`<${Fact} name="Reason">${words(task.reason)}</${Fact}>`}
      ${parent === null ? null : html`<${Fact} name="Part of"><${Parent} parent=${parent} /></${Fact}>`}
      ${trace_id === null ? null : html`<${Fact} name="Trace">${traceUrl === null ? html`<span class="mono">${trace_id}</span>` : html`<a class="mono" href=${traceUrl.replace('{trace_id}', trace_id)}>${trace_id}</a>`}</${Fact}>`}
    </dl>
    <div class="columns">
      <section aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
        <${Timeline} entries=${document.timeline} truncated=${document.truncated} home=${task.profile} />
      </section>
      <div>
        <section aria-labelledby="content"><h2 id="content">Brief and result</h2><${Content} task=${task} /></section>
        <section aria-labelledby="tree"><h2 id="tree">Delegations</h2><${Tree} tree=${tree} /></section>
        <section aria-labelledby="attempts"><h2 id="attempts">Why this peer</h2><${Attempts} attempts=${document.attempts} ended=${hasEnded(task.state)} /></section>
      </div>
    </div>
    ${tree.usage === null ? null : html`<${Usage} usage=${tree.usage} />`}`;
}

/** @param {{name: string, children?: any}} props */
const Fact = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`;

/** @param {{parent: NonNullable<TaskDocument['parent']>}} props */
const Parent = ({ parent: { profile, id, task_id } }) =>
  id === null
    ? html`${task_id} at ${profile}`
    : html`<a href=${taskHref({ profile, id })}>${task_id}</a> at ${profile}`;

/** @param {{usage: import('../../../http/api.ts').Usage}} props */
const Usage = ({ usage }) =>
  html`<section aria-labelledby="usage"><h2 id="usage">Tokens of its own model calls</h2>
    <dl class="figures">
      <${Figure} name="Input" value=${whole(usage.input_tokens)} />
      <${Figure} name="Output" value=${whole(usage.output_tokens)} note=${`${whole(usage.reasoning_tokens)} of it reasoning`} />
      <${Figure} name="Cache read" value=${whole(usage.cache_read_tokens)} />
      <${Figure} name="Cache written" value=${whole(usage.cache_write_tokens)} />
    </dl>
  </section>`;
