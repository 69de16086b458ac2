import { consoleNow, taskPath } from '../lib/api.js';
import { compact, dateTime, money, UNKNOWN } from '../lib/format.js';
import { useNow, useResource } from '../lib/hooks.js';
import { href, taskHref } from '../lib/router.js';
import { useSession } from '../lib/session.js';
import { html, useRef } from '../lib/vendor.js';
import { Ago, Elapsed, Figure, State, Tokens } from '../parts/basics.js';
import { Empty, Loaded, Skeleton } from '../parts/notices.js';
import { TaskActions } from './task-actions.js';
import { Attempts } from './task-attempts.js';
import { Content, useContent } from './task-content.js';
import { Question } from './task-question.js';
import { Timeline } from './task-timeline.js';
import { Tree, treeTokens, Usage } from './task-tree.js';
import { Verdict } from './task-verdict.js';

/** @typedef {import('../../../http/task-page.ts').TaskDocument} TaskDocument */

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
  const content = useContent(task);
  const traceUrl = session?.trace_url ?? null;
  return html`<div class="view-head task-head">
      <h1 class="mono">${task.task_id}</h1>
      <${State} state=${task.state} />
      <${TaskActions} document=${document} reload=${reload} />
    </div>
    <${Verdict} document=${document} />
    <${Question} task=${task} content=${content} />
    <dl class="figures">
      <${Figure} name="Tokens of budget" value=${html`<${Tokens} task=${{ ...task, spent_tokens: Math.max(task.spent_tokens, treeTokens(tree)) }} format=${compact} />`} />
      <${Figure} name="Elapsed of deadline" value=${html`<${Elapsed} task=${task} />`} />
      <${Figure} name="Cost" value=${money(task.cost)} note=${task.cost === null ? 'not known, or no price' : null} />
      <${Figure} name="Sent" value=${html`<${Ago} at=${task.submitted_at} />`} note=${dateTime(task.submitted_at)} />
      <${Figure} name="Peer" value=${task.peer ?? UNKNOWN} note=${task.ended_at !== null ? null : task.tool} />
    </dl>
    <dl class="facts">
      <${Fact} name="Caller">${task.caller}</${Fact}>
      <${Fact} name="Entered at">${task.profile}</${Fact}>
      <${Fact} name="ID"><span class="mono">${task.id}</span></${Fact}>
      <${Fact} name="Context"><a class="mono" href=${href(['tasks'], { q: task.context_id })}>${task.context_id}</a></${Fact}>
      <${Fact} name="Priority">${task.priority ?? UNKNOWN}</${Fact}>
      <${Fact} name="Deadline">${task.deadline === null ? 'none' : dateTime(task.deadline)}</${Fact}>
      ${parent === null ? null : html`<${Fact} name="Part of"><${Parent} parent=${parent} /></${Fact}>`}
      ${trace_id === null ? null : html`<${Fact} name="Trace">${traceUrl === null ? html`<span class="mono">${trace_id}</span>` : html`<a class="mono" href=${traceUrl.replace('{trace_id}', trace_id)}>${trace_id}</a>`}</${Fact}>`}
    </dl>
    <div class="columns">
      <section aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
        <${Timeline} entries=${document.timeline} truncated=${document.truncated} home=${task.profile} />
      </section>
      <div>
        <section aria-labelledby="content"><h2 id="content">Brief and result</h2><${Content} task=${task} content=${content} /></section>
        <section aria-labelledby="tree"><h2 id="tree">Delegations</h2><${Tree} tree=${tree} /><${Usage} tree=${tree} /></section>
        <section aria-labelledby="attempts"><h2 id="attempts">Why this peer</h2><${Attempts} attempts=${document.attempts} ended=${task.ended_at !== null} /></section>
      </div>
    </div>`;
}

/** @param {{name: string, children?: any}} props */
const Fact = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`;

/** @param {{parent: NonNullable<TaskDocument['parent']>}} props */
const Parent = ({ parent: { profile, id, task_id } }) =>
  id === null
    ? html`${task_id} at ${profile}`
    : html`<a href=${taskHref({ profile, id })}>${task_id}</a> at ${profile}`;
