import { announce } from '../lib/announce.js';
import { get, post, taskPath } from '../lib/api.js';
import { useAction } from '../lib/hooks.js';
import { go, href } from '../lib/router.js';
import { withToken } from '../lib/session.js';
import { html, useState } from '../lib/vendor.js';
import { Dialog } from '../parts/dialog.js';
import { keepTaskAgain } from './send-draft.js';

/**
 * Cancel, and send again. Both act with the person's own token.
 * @param {{document: import('../../../http/task-page.ts').TaskDocument, reload: () => void}} props
 */
export function TaskActions({ document, reload }) {
  const { task } = document;
  const [asking, setAsking] = useState(false);
  const { busy, fault, act } = useAction();
  const path = taskPath(task.profile, task.id);

  const cancel = () =>
    act(async () => {
      setAsking(false);
      const done = await withToken('canceling a task.', async () => {
        await post(`${path}/cancel`);
        return true;
      });
      if (done) announce('The profile is asked to cancel the task.');
      reload();
    });
  const sendAgain = () =>
    act(async () => {
      const content = await withToken('reading the brief that is sent again.', () => get(`${path}/content`));
      if (content === undefined) return;
      keepTaskAgain(document, content.brief ?? '');
      go(href(['send']));
    });
  return html`<div class="actions">
    ${task.ended_at !== null ? null : html`<button type="button" class="danger" disabled=${busy} onClick=${() => setAsking(true)}>Cancel the task</button>`}
    <button type="button" disabled=${busy} onClick=${sendAgain}>Send again</button>
    ${fault === '' ? null : html`<p class="fault" role="alert">${fault}</p>`}
    ${
      asking
        ? html`<${Dialog} title="Cancel this task?" close=${() => setAsking(false)}>
            <p>${task.task_id} stops at its next safe point. Tokens that are spent stay spent.</p>
            <div class="actions">
              <button type="button" class="danger" onClick=${cancel}>Cancel the task</button>
              <button type="button" autofocus onClick=${() => setAsking(false)}>Let it run</button>
            </div>
          </${Dialog}>`
        : null
    }
  </div>`;
}
