import { announce } from '../lib/announce.js';
import { ApiError } from '../lib/api.js';
import { giveToken } from '../lib/session.js';
import { html, useId, useState } from '../lib/vendor.js';
import { Dialog } from './dialog.js';

/** Asks for a token, once for the session. @param {{reason: string, answer: (given: boolean) => void}} props */
export function TokenDialog({ reason, answer }) {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState('');
  const field = useId();
  const help = useId();

  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (token.trim() === '') return setFault('Enter the token. "make -s token" prints it.');
    setBusy(true);
    try {
      await giveToken(token.trim());
      announce('The token is accepted.');
      answer(true);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setFault(
        error.status === 401
          ? 'No profile knows this token. "make -s token" prints the right one.'
          : error.message,
      );
      setBusy(false);
    }
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
