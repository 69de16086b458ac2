import { whole } from '../lib/format.js';
import { useDebounced } from '../lib/hooks.js';
import { changeParams, href } from '../lib/router.js';
import { useSession } from '../lib/session.js';
import { html, useEffect, useRef, useState } from '../lib/vendor.js';
import { Choice, Range } from '../parts/range.js';

/** The tab of each state. @type {Readonly<Record<keyof typeof import('/assets/lib/task-states-and-events.js').CONSOLE_STATES, string>>} */
const TAB_OF = {
  running: 'Running',
  input_required: 'Asks',
  submitted: 'Waiting',
  queued: 'Waiting',
  waiting: 'Waiting',
  paused: 'Waiting',
  done: 'Done',
  partial: 'Done',
  blocked: 'Blocked',
  error: 'Error',
  canceled: 'Canceled',
};

/** The states of a tab, its name, and the state whose mark it has. @type {readonly (readonly [string, string, string])[]} */
const TABS = [
  ['', 'All', ''],
  ...[...Map.groupBy(Object.entries(TAB_OF), ([, name]) => name)].map(
    ([name, tab]) => /** @type {const} */ ([tab.map(([state]) => state).join(), name, tab[0]?.[0] ?? '']),
  ),
];

/** Typing rests this long before the list is asked for. */
const TYPING_MS = 250;

/** @typedef {import('../lib/router.js').Place} Place */

/** Another filter begins at the first page. @param {Place} place @param {Readonly<Record<string, string>>} change */
const filter = (place, change) => changeParams(place, { focus: null, cursor: null, ...change });

/**
 * The states, with how many tasks each has among those that the other filters leave.
 * @param {{place: Place, states: Readonly<Record<string, number>> | null}} props
 */
export const StateTabs = ({ place: { params }, states }) =>
  html`<nav class="tabs" aria-label="States">
    <ul>
      ${TABS.map(([value, name, mark]) => {
        const current = (params['state'] ?? '') === value;
        const to = href(['tasks'], { ...params, focus: null, cursor: null, state: value });
        return html`<li key=${name}><a href=${to} aria-current=${current ? 'true' : undefined} class=${mark === '' ? '' : `state-${mark}`}>
          ${mark === '' ? null : html`<span class="mark" aria-hidden="true"></span>`}${name}<span class="count">${states === null ? '' : whole(countOf(states, value))}</span>
        </a></li>`;
      })}
    </ul>
  </nav>`;

/** @param {Readonly<Record<string, number>>} states @param {string} value */
const countOf = (states, value) =>
  Object.entries(states)
    .filter(([state]) => value === '' || value.split(',').includes(state))
    .reduce((sum, [, count]) => sum + count, 0);

/** The filters of the list of tasks; all are in the address. @param {{place: Place}} props */
export function TasksFilters({ place }) {
  const { session } = useSession();
  const { params } = place;
  const more = ['peer', 'caller', 'reason', 'priority', 'parts'].some((name) => params[name]);
  return html`<form class="filters" role="search" aria-label="Tasks" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <${Typed} place=${place} name="q" label="Search" type="search" placeholder="Task, context or ID" focus=${params['focus'] === 'search'} />
    <${Chosen} place=${place} name="profile" label="Entered at" options=${[['', 'Any profile'], ...(session?.profiles ?? []).map((name) => [name, name])]} />
    <${Range} place=${place} fallback="all" all=${true} />
    <details class="more" open=${more}>
      <summary>More filters</summary>
      <div class="filters">
        <${Typed} place=${place} name="peer" label="Peer" />
        <${Typed} place=${place} name="caller" label="Caller" />
        <${Typed} place=${place} name="reason" label="Reason" placeholder="mcp, tier, error code" />
        <${Chosen} place=${place} name="priority" label="Priority" options=${[['', 'Any'], ...['low', 'normal', 'high', 'urgent'].map((value) => [value, value])]} />
        <label class="check"><input type="checkbox" checked=${params['parts'] === 'true'} onChange=${(
          /** @type {any} */ event,
        ) => filter(place, { parts: event.target.checked ? 'true' : '' })} />Parts that peers sent on</label>
      </div>
    </details>
  </form>`;
}

/** @param {{place: Place, name: string, label: string, options: readonly (readonly [string, string])[]}} props */
const Chosen = ({ place, name, label, options }) =>
  html`<${Choice} label=${label} value=${place.params[name] ?? ''} options=${options} choose=${(/** @type {string} */ value) => filter(place, { [name]: value })} />`;

/** @param {{place: Place, name: string, label: string, type?: string, placeholder?: string, focus?: boolean}} props */
function Typed({ place, name, label, type = 'text', placeholder = '', focus = false }) {
  const given = place.params[name] ?? '';
  const [text, setText] = useState(given);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const settled = useDebounced(text, TYPING_MS);
  // What the address held last by this field's doing; another value there comes from a link or the history.
  const own = useRef(given);
  useEffect(() => {
    if (settled.trim() === own.current) return;
    own.current = settled.trim();
    filter(place, { [name]: settled.trim() });
  }, [settled]);
  useEffect(() => {
    if (given === own.current) return;
    own.current = given;
    setText(given);
  }, [given]);
  useEffect(() => {
    if (focus) input.current?.focus();
  }, [focus]);
  return html`<label class=${`field field-${name}`}><span>${label}</span>
    <input ref=${input} type=${type} value=${text} placeholder=${placeholder} spellcheck=${false} autocomplete="off"
      onInput=${(/** @type {any} */ event) => setText(event.target.value)} />
  </label>`;
}
