import { announce } from '../lib/announce.js';
import { ApiError, get, post, taskPath } from '../lib/api.js';
import { hasEnded, size, words } from '../lib/format.js';
import { useSession, withToken } from '../lib/session.js';
import { html, useEffect, useId, useState } from '../lib/vendor.js';

/**
 * @typedef {import('../../../http/api.ts').ContentDocument} ContentDocument
 * @typedef {import('../../../http/api.ts').TaskRow} TaskRow
 */

/** What the profile itself says of the task, with the person's token. @param {{task: TaskRow}} props */
export function Content({ task }) {
  const { session } = useSession();
  const [content, setContent] = useState(/** @type {ContentDocument | null} */ (null));
  const [fault, setFault] = useState('');
  const path = `${taskPath(task.profile, task.id)}/content`;
  const caller = session?.caller ?? null;

  const read = async () => {
    try {
      const read = await withToken('reading briefs and results.', () => get(path));
      if (read === undefined) return;
      setContent(read);
      setFault('');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(
        error.status === 404
          ? `${task.profile} does not show this task to ${caller ?? 'this caller'}: a task belongs to the caller who sent it, which is ${task.caller}.`
          : error.message,
      );
    }
  };
  useEffect(() => {
    if (caller !== null) read();
    else setContent(null);
  }, [path, caller, task.state]);

  if (fault !== '')
    return html`<div class="notice notice-bad" role="alert"><p>${fault}</p><button type="button" class="small" onClick=${read}>Try again</button></div>`;
  if (content === null)
    return caller === null
      ? html`<div class="closed"><p>Briefs and results are not in the console. ${task.profile} shows them to whoever sent the task.</p>
          <button type="button" onClick=${read}>Show them with my token</button></div>`
      : html`<p class="note">Asking ${task.profile}.</p>`;
  return html`${content.question === null || task.state !== 'input_required' ? null : html`<${Question} task=${task} question=${content.question} />`}
    <${Text} name="Brief" text=${content.brief} empty="The profile has no brief of it." />
    <${Result} task=${task} content=${content} />`;
}

/** @param {{name: string, text: string | null, empty: string}} props */
const Text = ({ name, text, empty }) =>
  html`<h3>${name}</h3>${text === null || text === '' ? html`<p class="note">${empty}</p>` : html`<pre class="text" tabindex="0" role="group" aria-label=${name}>${text}</pre>`}`;

/** @param {{task: TaskRow, content: ContentDocument}} props */
function Result({ task, content }) {
  const { result, text, artifacts } = content;
  const reply = typeof result?.['text'] === 'string' ? result['text'] : text;
  return html`<${Text} name="Result" text=${reply} empty=${hasEnded(task.state) ? 'The agent said nothing.' : 'Not yet.'} />
    ${typeof result?.['blocked_reason'] === 'string' ? html`<p class="note">${result['blocked_reason']}</p>` : null}
    <${List} name="Files changed" items=${asList(/** @type {any} */ (result?.['artifacts'])?.files_changed)} />
    <${List} name="Next steps" items=${asList(result?.['next_steps'])} />
    <${List} name="Remaining" items=${asList(result?.['remaining'])} />
    <${List} name="Evidence" items=${asList(result?.['evidence']).map(evidence)} />
    ${result?.['output'] === undefined ? null : html`<${Text} name="Output" text=${JSON.stringify(result['output'], null, 2)} empty="" />`}
    ${artifacts.length === 0 ? null : html`<h3>Artifacts</h3><ul class="artifacts">${artifacts.map((artifact, at) => html`<${Artifact} key=${at} artifact=${artifact} />`)}</ul>`}`;
}

/** @param {unknown} value @returns {readonly any[]} */
const asList = (value) => (Array.isArray(value) ? value : []);

/** @param {any} item */
const evidence = (item) =>
  `${words(String(item?.kind ?? ''))}: ${String(item?.detail ?? '')}${typeof item?.exit_code === 'number' ? ` (exit code ${item.exit_code})` : ''}`;

/** @param {{name: string, items: readonly any[]}} props */
const List = ({ name, items }) =>
  items.length === 0
    ? null
    : html`<h3>${name}</h3><ul class="list">${items.map((item, at) => html`<li key=${at}>${String(item)}</li>`)}</ul>`;

/** @param {{artifact: ContentDocument['artifacts'][number]}} props */
const Artifact = ({ artifact: { name, media_type, bytes, text, href } }) =>
  html`<li>
    ${href === null ? html`<span>${name}</span>` : html`<a href=${ownPath(href)} download=${name}>${name}</a>`}
    ${' '}<span class="sub-inline">${[media_type, bytes === null ? null : size(bytes)].filter(Boolean).join(', ')}</span>
    ${text === null ? null : html`<pre class="text" tabindex="0" role="group" aria-label=${name}>${text}</pre>`}
  </li>`;

/** An address that an agent made up leads nowhere: artifacts come from the console alone. @param {string} href */
const ownPath = (href) => (href.startsWith('/api/') ? href : undefined);

/** @param {{task: TaskRow, question: string}} props */
function Question({ task, question }) {
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const field = useId();
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (text.trim() === '') return setFault('Write an answer first.');
    setBusy(true);
    try {
      await withToken('answering a question.', () =>
        post(`${taskPath(task.profile, task.id)}/answer`, { text }),
      );
      announce('The answer is sent.');
      setText('');
      setFault('');
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(error.message);
    }
    setBusy(false);
  };
  return html`<form class="form question" onSubmit=${submit}>
    <h3>The task asks</h3>
    <pre class="text">${question}</pre>
    <label for=${field}>Answer</label>
    <textarea id=${field} rows="3" value=${text} aria-invalid=${fault !== ''} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea>
    <p class="fault" role="alert">${fault}</p>
    <div class="actions"><button type="submit" class="primary" disabled=${busy}>Answer</button></div>
  </form>`;
}
