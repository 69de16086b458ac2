import { go, href } from '../lib/router.js';
import { html, useEffect, useState } from '../lib/vendor.js';
import { Dialog } from './dialog.js';

const KEYS = [
  ['/', 'search the tasks'],
  ['↓ ↑ or j k', 'next and previous row of a list'],
  ['Enter', 'open the row'],
  ['?', 'this help'],
  ['Esc', 'close a dialog, leave the search'],
];

/** @param {EventTarget | null} target */
const takesText = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** @param {1 | -1} step */
function moveRow(step) {
  const rows = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-row]'))];
  if (rows.length === 0) return false;
  const at = rows.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const next =
    at === -1 ? (step === 1 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[next]?.focus();
  return true;
}

/** @typedef {import('./header.js').Linked} Linked */

/** @param {KeyboardEvent} event @param {readonly Linked[]} views @param {() => void} openHelp */
function handle(event, views, openHelp) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (takesText(event.target)) {
    if (event.key === 'Escape') /** @type {HTMLElement} */ (event.target).blur();
    return;
  }
  if (event.key === '?') {
    event.preventDefault();
    openHelp();
  } else if (event.key === '/') {
    event.preventDefault();
    const search = document.querySelector('input[type=search]');
    if (search instanceof HTMLElement) search.focus();
    else go(href(['tasks'], { focus: 'search' }));
  } else if (/^[1-9]$/.test(event.key)) {
    const view = views[Number(event.key) - 1];
    if (view) go(href([view.path]));
  } else if (['ArrowDown', 'ArrowUp', 'j', 'k'].includes(event.key)) {
    // The arrows scroll, unless the focus is in a list.
    const inList = document.activeElement?.hasAttribute('data-row') || event.key === 'j' || event.key === 'k';
    if (inList && moveRow(event.key === 'ArrowDown' || event.key === 'j' ? 1 : -1)) event.preventDefault();
  }
}

/** The keys of the whole page. @param {readonly Linked[]} views @returns {[boolean, (open: boolean) => void]} Whether the help is open. */
export function useShortcuts(views) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const listen = (/** @type {KeyboardEvent} */ event) => handle(event, views, () => setHelp(true));
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
  return [help, setHelp];
}

/** @param {{views: readonly Linked[], close: () => void}} props */
export const HelpDialog = ({ views, close }) =>
  html`<${Dialog} title="Keyboard" close=${close}>
    <table class="keys">
      <tbody>
        ${[[`1 – ${views.length}`, views.map(({ name }) => name).join(', ')], ...KEYS].map(
          ([key, what]) => html`<tr key=${key}><th scope="row"><kbd>${key}</kbd></th><td>${what}</td></tr>`,
        )}
      </tbody>
    </table>
    <div class="actions"><button type="button" autofocus onClick=${close}>Close</button></div>
  </${Dialog}>`;
