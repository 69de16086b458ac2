import { href, usePlace } from './lib/router.js';
import { loadSession, useSession } from './lib/session.js';
import { html, useEffect, useErrorBoundary, useRef } from './lib/vendor.js';
import { ConnectionNotice, Reach } from './parts/connection.js';
import { Header } from './parts/header.js';
import { HelpDialog, useShortcuts } from './parts/help.js';
import { Empty, ErrorNotice, Skeleton } from './parts/notices.js';
import { TokenDialog } from './parts/token-dialog.js';
import { VIEWS } from './views/views.js';

/** The whole page. */
export function App() {
  const { kind, asking } = useSession();
  const place = usePlace();
  const [help, setHelp] = useShortcuts(VIEWS);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const name = place.path[0] ?? 'tasks';
  const view = VIEWS.find((candidate) => candidate.path === name);
  const title = view?.title?.(place) ?? view?.name ?? 'Not found';
  const key = place.path.join('/');

  useEffect(() => {
    document.title = `${title} · Hermes Fleet`;
  }, [title]);
  // A new view begins at its top, and its reader too. The first one keeps what the browser has.
  const before = useRef(key);
  useEffect(() => {
    if (before.current === key) return;
    before.current = key;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [key]);

  return html`<a class="skip" href="#main" onClick=${(/** @type {Event} */ event) => {
    event.preventDefault();
    main.current?.focus();
  }}>Skip to content</a>
    <${Header} views=${VIEWS} current=${name} openHelp=${() => setHelp(true)} />
    <main id="main" tabindex="-1" ref=${main} aria-label=${title}>
      ${kind === 'open' ? html`<${ConnectionNotice} /><${Boundary} key=${key}><${View} view=${view} place=${place} /></${Boundary}>` : html`<${Closed} kind=${kind} />`}
    </main>
    ${kind === 'open' ? html`<${Reach} />` : null}
    ${help ? html`<${HelpDialog} views=${VIEWS} close=${() => setHelp(false)} />` : null}
    ${asking ? html`<${TokenDialog} ...${asking} />` : null}`;
}

/** @param {{view: import('./views/views.js').ViewEntry | undefined, place: import('./lib/router.js').Place}} props */
function View({ view, place }) {
  if (view) return html`<${view.component} place=${place} />`;
  return html`<${Empty} title="There is no such page.">Go to <a href=${href(['tasks'])}>the tasks</a>.</${Empty}>`;
}

/** A fault in one view leaves the others usable. @param {{children?: any}} props */
function Boundary({ children }) {
  const [error, reset] = useErrorBoundary((fault) => reportError(fault));
  if (!error) return children;
  const shown = { status: 1, message: `This view has a fault: ${error.message ?? error}.`, fields: [] };
  return html`<${ErrorNotice} error=${shown} retry=${reset} />`;
}

/** What stands in for every view without a session. @param {{kind: string}} props */
function Closed({ kind }) {
  useEffect(() => {
    if (kind !== 'unreachable') return undefined;
    const timer = setInterval(loadSession, 2_000);
    return () => clearInterval(timer);
  }, [kind]);
  if (kind === 'loading') return html`<${Skeleton} rows=${8} label="Opening the console" />`;
  if (kind === 'unreachable')
    return html`<${Empty} title="The console cannot be reached.">
      The page tries again every two seconds. Is the console running? See <code>fleet ps</code>, or
      ${' '}<code>docker compose ps console</code>.
    </${Empty}>`;
  return html`<${Empty} title="You are not signed in.">
    Run <code>./fleet console</code> in the fleet's folder: it prints a link that opens this page once, within five minutes.
  </${Empty}>`;
}
