import { CONSOLE_STATES } from '/assets/lib/task-states-and-events.js';
import { age, dateTime, UNKNOWN } from '../lib/format.js';
import { useNow } from '../lib/hooks.js';
import { html } from '../lib/vendor.js';

/** @param {{state: keyof typeof CONSOLE_STATES}} props */
export const State = ({ state }) =>
  html`<span class=${`state state-${state}`}><span class="mark" aria-hidden="true"></span>${CONSOLE_STATES[state].word}</span>`;

/** A time as its age, with the whole time as title. @param {{at: string | null, suffix?: string}} props */
export function Ago({ at, suffix = ' ago' }) {
  const now = useNow();
  if (at === null) return html`<span class="unknown">${UNKNOWN}</span>`;
  return html`<time datetime=${at} title=${dateTime(at)}>${age(now - Date.parse(at))}${suffix}</time>`;
}

/**
 * A share of a limit: a bar with its figures as text. Above the limit it says so.
 * @param {{value: number, limit: number | null, text: string, label: string, quiet?: boolean}} props
 */
export function Bar({ value, limit, text, label, quiet = false }) {
  const share = limit === null || limit <= 0 ? null : value / limit;
  const level = share === null || quiet ? '' : share > 1 ? ' over' : share > 0.8 ? ' near' : '';
  const width = `${Math.min(1, share ?? 0) * 100}%`;
  return html`<div class=${`bar${level}${share === null ? ' open' : ''}`}>
    <span class="bar-text"><span class="hidden">${label}: </span>${text}${share !== null && share > 1 && !quiet ? html`<span class="hidden"> (over the limit)</span>` : null}</span>
    <span class="bar-track" aria-hidden="true"><span class="bar-fill" style=${{ width }}></span></span>
  </div>`;
}

/** The bar of a task's tokens against its budget. @param {{task: {spent_tokens: number, budget_tokens: number | null}, format: (count: number | null) => string}} props */
export const Tokens = ({ task, format }) =>
  html`<${Bar} label="Tokens" value=${task.spent_tokens} limit=${task.budget_tokens}
    text=${task.budget_tokens === null ? format(task.spent_tokens) : `${format(task.spent_tokens)} / ${format(task.budget_tokens)}`} />`;

/**
 * The bar of a task's time against its deadline. It stands still when the task has ended.
 * @param {{task: import('../../../http/task-row.ts').TaskRow}} props
 */
export function Elapsed({ task }) {
  const now = useNow();
  const begin = Date.parse(task.submitted_at);
  const end = task.ended_at === null ? now : Date.parse(task.ended_at);
  const limit = task.deadline === null ? null : Date.parse(task.deadline) - begin;
  const elapsed = Math.max(0, end - begin);
  const text = limit === null ? age(elapsed) : `${age(elapsed)} / ${age(limit, Math.round)}`;
  return html`<${Bar} label="Elapsed" value=${elapsed} limit=${limit} text=${text} quiet=${task.ended_at !== null && elapsed <= (limit ?? elapsed)} />`;
}

/** A figure with its name; `bad` marks one that needs attention. @param {{name: string, value: any, note?: any, bad?: boolean}} props */
export const Figure = ({ name, value, note = null, bad = false }) =>
  html`<div class=${`figure${bad ? ' figure-bad' : ''}`}><dt>${name}</dt><dd><span class="figure-value">${value}</span>${note === null ? null : html`<span class="figure-note">${note}</span>`}</dd></div>`;

/** @param {{ok: boolean | null, children?: any}} props */
export const Health = ({ ok, children }) =>
  html`<span class=${`health ${ok === null ? 'health-none' : ok ? 'health-ok' : 'health-bad'}`}><span class="mark" aria-hidden="true"></span>${children}</span>`;
