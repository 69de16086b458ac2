import { get, taskPath } from '../lib/api.js';
import { size, words } from '../lib/format.js';
import { useAction } from '../lib/hooks.js';
import { useSession, withToken } from '../lib/session.js';
import { html, useEffect, useState } from '../lib/vendor.js';

/**
 * @typedef {import('../../../http/content.ts').ContentDocument} ContentDocument
 * @typedef {import('../../../http/task-row.ts').TaskRow} TaskRow
 */

/**
 * @typedef {object} ReadContent
 * @property {ContentDocument | null} document
 * @property {string} fault
 * @property {string | null} caller Whose token the session holds.
 * @property {() => Promise<void>} read Asks for a token if there is none.
 */

/** What the profile itself says of the task, with the person's token. @param {TaskRow} task @returns {ReadContent} */
export function useContent(task) {
  const { session } = useSession();
  const [document, setDocument] = useState(/** @type {ContentDocument | null} */ (null));
  const path = `${taskPath(task.profile, task.id)}/content`;
  const caller = session?.caller ?? null;
  const { fault, act } = useAction(({ status, message }) =>
    status === 404
      ? `${task.profile} does not show this task to ${caller ?? 'this caller'}: a task belongs to the caller who sent it, which is ${task.caller}.`
      : message,
  );
  const read = () =>
    act(async () => {
      const content = await withToken('reading briefs and results.', () => get(path));
      if (content !== undefined) setDocument(content);
    });
  useEffect(() => {
    if (caller !== null) read();
    else setDocument(null);
  }, [path, caller, task.state]);
  return { document, fault, caller, read };
}

/** @param {{task: TaskRow, content: ReadContent}} props */
export function Content({ task, content: { document, fault, caller, read } }) {
  if (fault !== '')
    return html`<div class="notice notice-bad" role="alert"><p>${fault}</p><button type="button" class="small" onClick=${read}>Try again</button></div>`;
  if (document === null)
    return caller === null
      ? html`<div class="closed"><p>Briefs and results are not in the console. ${task.profile} shows them to whoever sent the task.</p>
          <button type="button" onClick=${read}>Show them with my token</button></div>`
      : html`<p class="note">Asking ${task.profile}.</p>`;
  return html`<${Text} name="Brief" text=${document.brief} empty="The profile has no brief of it." />
    <${Result} task=${task} content=${document} />`;
}

/** @param {{name: string, text: string | null, empty: string}} props */
const Text = ({ name, text, empty }) =>
  html`<h3>${name}</h3>${text === null || text === '' ? html`<p class="note">${empty}</p>` : html`<pre class="text" tabindex="0" role="group" aria-label=${name}>${text}</pre>`}`;

/** @param {{task: TaskRow, content: ContentDocument}} props */
function Result({ task, content }) {
  const { result, text, artifacts } = content;
  const reply = typeof result?.['text'] === 'string' ? result['text'] : text;
  return html`<${Text} name="Result" text=${reply} empty=${task.ended_at !== null ? 'The agent said nothing.' : 'Not yet.'} />
    ${typeof result?.['blocked_reason'] === 'string' && !reply?.includes(result['blocked_reason']) ? html`<p class="note">${result['blocked_reason']}</p>` : null}
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
