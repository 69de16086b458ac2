import { useResource } from '../lib/hooks.js';
import { useSession } from '../lib/session.js';
import { html, useId } from '../lib/vendor.js';
import { repositoriesOf } from './dispatch.js';

/** @typedef {import('./dispatch.js').Fields} Fields */

/**
 * A field with its label, its hint and its fault.
 * @param {{label: string, hint?: string, fault?: string, children: (attributes: Record<string, unknown>) => any}} props
 */
function Field({ label, hint = '', fault = '', children }) {
  const id = useId();
  const note = fault || hint;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children({ id, 'aria-describedby': note === '' ? undefined : `${id}-note`, 'aria-invalid': fault !== '' })}
    <span id=${`${id}-note`} class=${fault === '' ? 'hint' : 'hint fault'}>${note}</span>
  </div>`;
}

/** @param {{fields: Fields, name: keyof Fields, change: (change: Partial<Fields>) => void, label: string, hint?: string, fault?: string, rows?: number, options?: readonly (readonly [string, string])[], inputmode?: string}} props */
const Input = ({ fields, name, change, label, hint, fault, rows, options, inputmode }) => {
  const onInput = (/** @type {any} */ event) => change({ [name]: event.target.value });
  return html`<${Field} label=${label} hint=${hint} fault=${fault}>
    ${(/** @type {Record<string, unknown>} */ attributes) => {
      if (options)
        return html`<select ...${attributes} value=${fields[name]} onChange=${onInput}>${options.map(([value, text]) => html`<option key=${value} value=${value} selected=${value === fields[name]}>${text}</option>`)}</select>`;
      if (rows)
        return html`<textarea ...${attributes} rows=${rows} value=${fields[name]} onInput=${onInput}></textarea>`;
      return html`<input ...${attributes} type="text" inputmode=${inputmode} autocomplete="off" spellcheck=${false} value=${fields[name]} onInput=${onInput} />`;
    }}
  </${Field}>`;
};

/** @param {readonly string[]} values */
const asOptions = (values) => values.map((value) => /** @type {const} */ ([value, value]));

const PRIORITIES = asOptions(['low', 'normal', 'high', 'urgent']);
const TIERS = /** @type {const} */ ([['', 'any'], ...asOptions(['haiku', 'sonnet', 'opus'])]);
const REPLIES = /** @type {const} */ ([
  ['prose', 'prose'],
  ['structured', 'structured'],
  ['json', 'JSON'],
]);
const WRITES = /** @type {const} */ ([
  ['', 'as it requires'],
  ['true', 'yes'],
  ['false', 'no'],
]);
const BLOCKED = /** @type {const} */ ([
  ['', 'orchestrator decides'],
  ['reroute', 'ask the next peer'],
  ['queue', 'wait'],
  ['fail', 'say so at once'],
]);

/**
 * A dispatch, field by field.
 * @param {{fields: Fields, faults: Readonly<Record<string, string>>, change: (change: Partial<Fields>) => void, rows: number}} props
 */
export function DispatchFields({ fields, faults, change, rows }) {
  const { session } = useSession();
  /** @type {import('../../../http/fleet.ts').FleetDocument | null} */
  const fleet = useResource('/api/fleet', ['fleet']).data;
  const servers = new Set((fleet?.peers ?? []).flatMap(({ mcp }) => mcp.map(({ name }) => name)));
  const known = new Set(['auto', ...(session?.profiles ?? []), fields.target]);
  const targets = [...known].map(
    (name) => /** @type {const} */ ([name, name === 'auto' ? 'whoever fits best' : name]),
  );
  const repositories = new Set((fleet?.peers ?? []).flatMap(({ tools }) => repositoriesOf(tools)));
  if (fields.repository !== '') repositories.add(fields.repository);
  const choices = /** @type {const} */ ([['', "the worker's own"], ...asOptions([...repositories].sort())]);
  const input = { fields, change };
  return html`<${Input} ...${input} name="brief" label="Brief" rows=${rows} fault=${faults['brief']} hint="What is to be done, in words." />
    <div class="fields">
      <${Input} ...${input} name="budget" label="Token budget" inputmode="numeric" fault=${faults['budget']} hint="input and output together" />
      <${Input} ...${input} name="deadline" label="Deadline in minutes" inputmode="numeric" fault=${faults['deadline']} hint="none, if empty" />
      <${Input} ...${input} name="priority" label="Priority" options=${PRIORITIES} />
      <${Input} ...${input} name="target" label="Peer" options=${targets} />
      ${
        repositories.size === 0
          ? null
          : html`<${Input} ...${input} name="repository" label="Repository" options=${choices} />
      <${Input} ...${input} name="base" label="Branch to start from" fault=${faults['base']} hint="as configured, if empty" />`
      }
      <${Input} ...${input} name="mcp" label="Required MCP servers" hint=${servers.size === 0 ? 'names, with commas' : `known: ${[...servers].sort().join(', ')}`} />
      <${Input} ...${input} name="capabilities" label="Required capabilities" hint="such as terminal, file" />
      <${Input} ...${input} name="minTier" label="Smallest tier" options=${TIERS} />
      <${Input} ...${input} name="minWindow" label="Smallest context window" inputmode="numeric" fault=${faults['minWindow']} hint="in tokens" />
    </div>
    <details class="more-fields">
      <summary>More fields</summary>
      <div class="fields">
        <${Input} ...${input} name="replySchema" label="Reply" options=${REPLIES} />
        <${Input} ...${input} name="write" label="Changes files" options=${WRITES} />
        <${Input} ...${input} name="onBlocked" label="When a peer refuses" options=${BLOCKED} />
        <${Input} ...${input} name="taskId" label="Task name" hint="made up, if empty" />
      </div>
    </details>`;
}
