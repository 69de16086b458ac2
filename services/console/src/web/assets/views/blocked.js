import { consoleNow, query } from '../lib/api.js';
import { compact, counted, percent, UNKNOWN, whole, words } from '../lib/format.js';
import { useResource } from '../lib/hooks.js';
import { href } from '../lib/router.js';
import { html } from '../lib/vendor.js';
import { Figure } from '../parts/basics.js';
import { StackedBars } from '../parts/chart.js';
import { Empty, Loaded } from '../parts/notices.js';
import { Range, sinceOf } from '../parts/range.js';

const FALLBACK = '24h';

/** @typedef {import('../../../http/blocked.ts').BlockedDocument} BlockedDocument */

/** What the fleet refused, and why. @param {{place: import('../lib/router.js').Place}} props */
export function BlockedView({ place }) {
  const range = place.params['since'] ?? FALLBACK;
  const blocked = useResource(`/api/blocked${query({ since: sinceOf(range, consoleNow()) })}`, ['blocked']);
  return html`<div class="view-head"><h1>Blocked</h1><div class="filters"><${Range} place=${place} fallback=${FALLBACK} /></div></div>
    <p class="lead">Of tasks that entered the fleet and ended. A blocked task has cost no token.</p>
    <${Loaded} resource=${blocked} label="blocked tasks" rows=${9}>
      ${(/** @type {BlockedDocument} */ document) => html`<${Body} document=${document} range=${range} />`}
    </${Loaded}>`;
}

/** @param {{document: BlockedDocument, range: string}} props */
function Body({ document, range }) {
  const { ended, blocked, tokens_saved, buckets, reasons, missing } = document;
  if (ended === 0)
    return html`<${Empty} title="No task has ended in this time.">Choose a longer time, or <a href=${href(['send'])}>send a task</a>.</${Empty}>`;
  const kinds = reasons.map(({ kind }) => kind);
  const series = kinds.map((kind) => ({
    name: words(kind),
    values: buckets.map((bucket) =>
      bucket.ended === 0 ? 0 : (100 * (bucket.blocked[kind] ?? 0)) / bucket.ended,
    ),
  }));
  return html`<dl class="figures">
      <${Figure} name="Blocked share" value=${percent(blocked, ended)} note=${`${whole(blocked)} of ${counted(ended, 'task')}`} />
      <${Figure} name="Tokens saved" value=${compact(tokens_saved)} note="budgets that were not begun" />
      <${Figure} name="Most frequent reason" value=${reasons[0] ? words(reasons[0].kind) : UNKNOWN} note=${reasons[0] ? counted(reasons[0].tasks, 'task') : null} />
      <${Figure} name="Would unblock most" value=${missing[0] ? needOf(missing[0]) : UNKNOWN} note=${missing[0] ? `${words(missing[0].kind)}: ${counted(missing[0].alone, 'task')} had no other unmet requirement` : null} />
    </dl>
    ${
      blocked === 0
        ? html`<${Empty} title="Nothing was blocked in this time.">Every task that ended had met its requirements.</${Empty}>`
        : html`<section aria-labelledby="share"><h2 id="share">Blocked share by reason, in percent</h2>
            <${StackedBars} title="Blocked share by reason, in percent" times=${buckets.map(({ at }) => at)} stepS=${document.bucket_s} series=${series}
              format=${(/** @type {number} */ value) => `${Number(value.toFixed(1))}%`} />
          </section>
          <div class="columns">
            <${Missing} missing=${missing} />
            <${Reasons} reasons=${reasons} blocked=${blocked} range=${range} />
          </div>`
    }`;
}

/** A requirement by its name; that of a window is a number of tokens. @param {{kind: string, name: string}} need */
function needOf({ kind, name }) {
  if (name === '') return UNKNOWN;
  return kind === 'context' && /^\d+$/.test(name) ? `${compact(Number(name))} tokens` : words(name);
}

/** @param {{missing: BlockedDocument['missing']}} props */
const Missing = ({ missing }) =>
  html`<section aria-labelledby="missing"><h2 id="missing">What would have unblocked the most</h2>
    ${
      missing.length === 0
        ? html`<p class="note">No requirement is known by name.</p>`
        : html`<table class="grid">
            <thead><tr><th scope="col">Requirement</th><th scope="col" class="num c-num">Only this</th><th scope="col" class="num c-num">Among others</th><th scope="col" class="num c-num">Tokens</th></tr></thead>
            <tbody>${missing.map(
              ({ kind, name, tasks, alone, tokens_saved }) => html`<tr key=${`${kind} ${name}`}>
                <th scope="row" class="wrap">${needOf({ kind, name })}<span class="sub">${words(kind)}</span></th>
                <td class="num">${whole(alone)}</td><td class="num">${whole(tasks - alone)}</td><td class="num">${compact(tokens_saved)}</td>
              </tr>`,
            )}</tbody>
          </table>`
    }
  </section>`;

/** @param {{reasons: BlockedDocument['reasons'], blocked: number, range: string}} props */
const Reasons = ({ reasons, blocked, range }) =>
  html`<section aria-labelledby="reasons"><h2 id="reasons">Reasons</h2>
    <table class="grid">
      <thead><tr><th scope="col">Reason</th><th scope="col" class="num c-num">Tasks</th><th scope="col" class="num c-num">Share</th><th scope="col" class="num c-num">Tokens saved</th></tr></thead>
      <tbody>${reasons.map(
        ({ kind, tasks, tokens_saved }) => html`<tr key=${kind}>
          <th scope="row"><a data-row href=${href(['tasks'], { state: 'blocked', reason: kind, since: range })}>${words(kind)}</a></th>
          <td class="num">${whole(tasks)}</td><td class="num">${percent(tasks, blocked)}</td><td class="num">${compact(tokens_saved)}</td>
        </tr>`,
      )}</tbody>
    </table>
  </section>`;
