import { stateName } from '../lib/format.js';
import { useDebounced } from '../lib/hooks.js';
import { go, href } from '../lib/router.js';
import { useSession } from '../lib/session.js';
import { html, useEffect, useRef, useState } from '../lib/vendor.js';
import { Range } from '../parts/range.js';

const GROUPS = [
  ['', 'Any state'],
  ['submitted,queued,waiting,running,input_required,paused', 'Not ended'],
  ['done,partial,blocked,error,canceled', 'Ended'],
];
const STATES = [
  'queued',
  'waiting',
  'running',
  'input_required',
  'paused',
  'done',
  'partial',
  'blocked',
  'error',
  'canceled',
];

/** Typing rests this long before the list is asked for. */
const TYPING_MS = 250;

/** @typedef {import('../lib/router.js').Place} Place */

/** Another filter begins at the first page. @param {Place} place @param {Readonly<Record<string, string>>} change */
const filter = (place, change) =>
  go(href(['tasks'], { ...place.params, focus: null, cursor: null, ...change }), { replace: true });

/** The filters of the list of tasks; all are in the address. @param {{place: Place}} props */
export function TasksFilters({ place }) {
  const { session } = useSession();
  const { params } = place;
  const more = ['peer', 'caller', 'reason', 'priority', 'parts'].some((name) => params[name]);
  return html`<form class="filters" role="search" aria-label="Tasks" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <${Typed} place=${place} name="q" label="Search" type="search" placeholder="Task, context or ID" focus=${params['focus'] === 'search'} />
    <${Chosen} place=${place} name="state" label="State" options=${[...GROUPS, ...STATES.map((state) => [state, stateName(state)])]} />
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
  html`<label class="field"><span>${label}</span>
    <select value=${place.params[name] ?? ''} onChange=${(/** @type {any} */ event) => filter(place, { [name]: event.target.value })}>
      ${options.map(([value, text]) => html`<option key=${value} value=${value} selected=${value === (place.params[name] ?? '')}>${text}</option>`)}
    </select>
  </label>`;

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
