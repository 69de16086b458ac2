import { announce } from '../lib/announce.js';
import { ApiError, consoleNow, post } from '../lib/api.js';
import { go, taskHref } from '../lib/router.js';
import { useSession, withToken } from '../lib/session.js';
import { html, useMemo, useState } from '../lib/vendor.js';
import { ErrorNotice } from '../parts/notices.js';
import { dispatchOf, EMPTY, faultsOf, Input, PRIORITIES, TIERS } from './dispatch-form.js';
import { Route } from './route-answer.js';
import { takeDraft } from './send-draft.js';

const REPLIES = /** @type {const} */ ([
  ['prose', 'prose'],
  ['structured', 'structured'],
  ['json', 'JSON'],
]);
const WRITES = /** @type {const} */ ([
  ['', 'as it requires'],
  ['true', 'yes'],
  ['false', 'no'],
]);
const BLOCKED = /** @type {const} */ ([
  ['', 'as the orchestrator has it'],
  ['reroute', 'ask the next peer'],
  ['queue', 'wait'],
  ['fail', 'say so at once'],
]);

/** A dispatch by a form: where it would go, and then the task itself. */
export function SendView() {
  const { session } = useSession();
  const draft = useMemo(takeDraft, []);
  const [fields, setFields] = useState({ ...EMPTY, ...draft });
  const [faults, setFaults] = useState(/** @type {Record<string, string>} */ ({}));
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {ApiError | null} */ (null));
  const [busy, setBusy] = useState('');
  // One name for the task until a field changes: a second click after a lost answer sends the same task, not another one.
  const taskId = useMemo(() => `console-${crypto.randomUUID()}`, [JSON.stringify(fields)]);
  const change = (/** @type {Partial<typeof EMPTY>} */ changed) => {
    setFields({ ...fields, ...changed });
    setAnswer(null);
  };
  const known = new Set(['auto', ...(session?.profiles ?? []), fields.target]);
  const targets = [...known].map((name) => [name, name === 'auto' ? 'whoever fits best' : name]);

  /** @param {'route' | 'send'} what */
  const run = async (what) => {
    const found = faultsOf(fields);
    setFaults(found);
    if (Object.keys(found).length > 0) return announce('The form has a fault.');
    const dispatch = dispatchOf({ ...fields, taskId: fields.taskId.trim() || taskId }, consoleNow());
    setBusy(what);
    setError(null);
    try {
      const why = what === 'send' ? 'sending a task.' : 'asking the orchestrator where a task would go.';
      const said = await withToken(why, () => post(`/api/${what}`, { dispatch }));
      if (said !== undefined && what === 'send') {
        announce('The task is sent.');
        go(taskHref(said));
      } else if (said !== undefined) setAnswer(said);
    } catch (fault) {
      if (!(fault instanceof ApiError)) throw fault;
      setError(fault);
    }
    setBusy('');
  };
  const input = { fields, change };
  return html`<div class="view-head"><h1>Send</h1></div>
    ${draft === null ? null : html`<div class="notice"><p>The brief, requirements and budget are those of ${draft.again}. It becomes a new task.</p></div>`}
    <form class="send" noValidate onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      run('send');
    }}>
      <${Input} ...${input} name="brief" label="Brief" rows=${8} fault=${faults['brief']} hint="What is to be done, in words." />
      <div class="fields">
        <${Input} ...${input} name="budget" label="Token budget" inputmode="numeric" fault=${faults['budget']} hint="input and output together" />
        <${Input} ...${input} name="deadline" label="Deadline in minutes" inputmode="numeric" fault=${faults['deadline']} hint="none, if empty" />
        <${Input} ...${input} name="priority" label="Priority" options=${PRIORITIES} />
        <${Input} ...${input} name="target" label="Peer" options=${targets} />
        <${Input} ...${input} name="mcp" label="Required MCP servers" hint="filesystem, memory" />
        <${Input} ...${input} name="capabilities" label="Required capabilities" hint="terminal, file" />
        <${Input} ...${input} name="minTier" label="Smallest tier" options=${TIERS} />
        <${Input} ...${input} name="replySchema" label="Reply" options=${REPLIES} />
        <${Input} ...${input} name="write" label="Changes files" options=${WRITES} />
        <${Input} ...${input} name="onBlocked" label="When a peer refuses" options=${BLOCKED} />
        <${Input} ...${input} name="taskId" label="Task name" hint="made up, if empty" />
      </div>
      ${error === null ? null : html`<${ErrorNotice} error=${error} />`}
      <div class="actions">
        <button type="button" disabled=${busy !== ''} onClick=${() => run('route')}>Where would it go?</button>
        <button type="submit" class="primary" disabled=${busy !== ''}>${busy === 'send' ? 'Sending' : 'Send the task'}</button>
      </div>
    </form>
    ${answer === null ? null : html`<${Route} answer=${answer} />`}`;
}
