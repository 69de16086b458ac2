import { announce } from '../lib/announce.js';
import { go, taskHref } from '../lib/router.js';
import { html, useMemo } from '../lib/vendor.js';
import { ErrorNotice } from '../parts/notices.js';
import { DispatchFields } from './dispatch-fields.js';
import { Route } from './route-answer.js';
import { takeDraft } from './send-draft.js';
import { useDispatch } from './use-dispatch.js';

/** A dispatch by a form: where it would go, and then the task itself. */
export function SendView() {
  const draft = useMemo(takeDraft, []);
  const { fields, faults, answer, error, busy, change, run } = useDispatch(draft?.fields);
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const sent = await run('send');
    if (sent === undefined) return;
    announce('The task is sent.');
    go(taskHref(sent));
  };
  return html`<div class="view-head"><h1>Send</h1></div>
    ${draft?.again ? html`<div class="notice"><p>The brief, requirements and budget are those of ${draft.again}. It becomes a new task.</p></div>` : null}
    <div class="ask-and-answer">
      <form class="dispatch" noValidate onSubmit=${send}>
        <${DispatchFields} fields=${fields} faults=${faults} change=${change} rows=${8} />
        ${error === null ? null : html`<${ErrorNotice} error=${error} />`}
        <div class="actions">
          <button type="button" disabled=${busy !== ''} onClick=${() => run('route')}>Where would it go?</button>
          <button type="submit" class="primary" disabled=${busy !== ''}>${busy === 'send' ? 'Sending' : 'Send the task'}</button>
        </div>
      </form>
      <${Route} answer=${answer} />
    </div>`;
}
