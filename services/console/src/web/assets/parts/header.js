import { href } from '../lib/router.js';
import { askForToken, forgetToken, signOut, useSession } from '../lib/session.js';
import { chooseTheme, useTheme } from '../lib/theme.js';
import { html } from '../lib/vendor.js';
import { ConnectionBadge } from './connection.js';

/**
 * @typedef {object} Linked A view to which the header leads.
 * @property {string} path
 * @property {string} name
 */

/** @param {{views: readonly Linked[], current: string, openHelp: () => void}} props */
export function Header({ views, current, openHelp }) {
  const { kind, session } = useSession();
  const grafana = session?.grafana_url ?? null;
  return html`<header class="header">
    <a class="brand" aria-label="Hermes Fleet" href=${href(['tasks'])}><img src="/assets/icon.svg" alt="" width="18" height="18" /><span class="brand-name">Hermes Fleet</span></a>
    <nav class="nav" aria-label="Views">
      <ul>
        ${views.map(
          ({ path, name }) =>
            html`<li key=${path}><a href=${href([path])} aria-current=${path === current ? 'page' : undefined}>${name}</a></li>`,
        )}
      </ul>
    </nav>
    <div class="tools">
      ${grafana === null ? null : html`<a class="quiet" href=${grafana}>Grafana</a>`}
      ${kind === 'open' ? html`<${ConnectionBadge} /><${Account} />` : null}
      <${ThemeSwitch} />
      <button type="button" class="icon" aria-label="Keyboard and help" title="Keyboard and help (?)" onClick=${openHelp}>?</button>
    </div>
  </header>`;
}

/** Whose token the session holds. */
function Account() {
  const { session } = useSession();
  if (session === null) return null;
  const { caller, scopes } = session;
  if (caller === null)
    return html`<button type="button" class="quiet" onClick=${() => askForToken('acting as yourself.')}>Use a token</button>`;
  return html`<details class="menu">
    <summary aria-label=${`Token of ${caller}`}>${caller}</summary>
    <div class="menu-body">
      <p>The session holds the token of <strong>${caller}</strong> in memory${scopes.length > 0 ? `, with ${scopes.join(', ')}` : ''}.</p>
      <button type="button" onClick=${forgetToken}>Forget the token</button>
      <button type="button" onClick=${signOut}>Sign out</button>
    </div>
  </details>`;
}

function ThemeSwitch() {
  const theme = useTheme();
  const other = theme === 'dark' ? 'light' : 'dark';
  return html`<button type="button" class="icon" aria-label=${`Use the ${other} theme`} title=${`Use the ${other} theme`} onClick=${() => chooseTheme(other)}>
    <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"/></svg>
  </button>`;
}
