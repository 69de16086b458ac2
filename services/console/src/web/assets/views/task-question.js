import { announce } from '../lib/announce.js';
import { post, taskPath } from '../lib/api.js';
import { useAction } from '../lib/hooks.js';
import { withToken } from '../lib/session.js';
import { html, useId, useState } from '../lib/vendor.js';

/**
 * What a task asks its caller, and the answer. It stands above everything else of the page: the task waits for it.
 * @param {{task: import('../../../http/task-row.ts').TaskRow, content: import('./task-content.js').ReadContent}} props
 */
export function Question({ task, content: { document, caller, read } }) {
  if (task.state !== 'input_required') return null;
  if (document?.question) return html`<${Answer} task=${task} question=${document.question} />`;
  return html`<div class="notice notice-ask"><p>The task asks its caller and waits for the answer.</p>
    ${caller === null ? html`<button type="button" class="small" onClick=${read}>Read the question</button>` : null}</div>`;
}

/** @param {{task: import('../../../http/task-row.ts').TaskRow, question: string}} props */
function Answer({ task, question }) {
  const [text, setText] = useState('');
  const { busy, fault, setFault, act } = useAction();
  const field = useId();
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (text.trim() === '') return setFault('Write an answer first.');
    await act(async () => {
      await withToken('answering a question.', () =>
        post(`${taskPath(task.profile, task.id)}/answer`, { text }),
      );
      announce('The answer is sent.');
      setText('');
    });
  };
  return html`<form class="form question" onSubmit=${submit}>
    <h2>The task asks</h2>
    <pre class="text">${question}</pre>
    <label for=${field}>Answer</label>
    <textarea id=${field} rows="3" value=${text} aria-invalid=${fault !== ''} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea>
    <p class="fault" role="alert">${fault}</p>
    <div class="actions"><button type="submit" class="primary" disabled=${busy}>Answer</button></div>
  </form>`;
}
