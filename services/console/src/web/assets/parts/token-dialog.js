import { announce } from '../lib/announce.js';
import { useAction } from '../lib/hooks.js';
import { giveToken } from '../lib/session.js';
import { html, useId, useState } from '../lib/vendor.js';
import { Dialog } from './dialog.js';

/** Asks for a token, once for the session. @param {{reason: string, answer: (given: boolean) => void}} props */
export function TokenDialog({ reason, answer }) {
  const [token, setToken] = useState('');
  const { busy, fault, setFault, act } = useAction(({ status, message }) =>
    status === 401 ? 'No profile knows this token. "make -s token" prints the right one.' : message,
  );
  const field = useId();
  const help = useId();

  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (token.trim() === '') return setFault('Enter the token. "make -s token" prints it.');
    await act(async () => {
      await giveToken(token.trim());
      announce('The token is accepted.');
      answer(true);
    });
  };
  return html`<${Dialog} title="Your token" close=${() => answer(false)}>
    <form class="form" onSubmit=${submit}>
      <p id=${help}>
        This needs your token: ${reason} <code>make -s token</code> or <code>./fleet token</code> prints it. The console keeps it in
        memory until you sign out, and the profiles see it with its scopes.
      </p>
      <label for=${field}>Token</label>
      <input id=${field} type="password" autocomplete="off" spellcheck=${false} autofocus value=${token}
        aria-describedby=${help} aria-invalid=${fault !== ''} onInput=${(/** @type {any} */ event) => setToken(event.target.value)} />
      <p class="fault" role="alert">${fault}</p>
      <div class="actions">
        <button type="submit" class="primary" disabled=${busy}>${busy ? 'Asking the profile' : 'Use this token'}</button>
        <button type="button" onClick=${() => answer(false)}>Cancel</button>
      </div>
    </form>
  </${Dialog}>`;
}
