import { consoleNow, query } from '../lib/api.js';
import { dateTime, UNKNOWN, whole, words } from '../lib/format.js';
import { useResource } from '../lib/hooks.js';
import { html } from '../lib/vendor.js';
import { Ago, Figure, Health } from '../parts/basics.js';
import { StackedBars } from '../parts/chart.js';
import { Empty, Loaded } from '../parts/notices.js';
import { Range, sinceOf } from '../parts/range.js';
import { Books } from './trader-books.js';

const FALLBACK = '24h';
const STATUSES = ['applied', 'noop', 'rejected', 'failed'];

/** @typedef {import('../../../http/trader.ts').TraderDocument} TraderDocument */

/** What the trader was told, what it did and earned, and whether its audit is sound. @param {{place: import('../lib/router.js').Place}} props */
export function TraderView({ place }) {
  const range = place.params['since'] ?? FALLBACK;
  const since = sinceOf(range, consoleNow());
  const trader = useResource(`/api/trader${query({ since })}`, ['trader']);
  return html`<div class="view-head"><h1>Trader</h1><div class="filters"><${Range} place=${place} fallback=${FALLBACK} /></div></div>
    <${Loaded} resource=${trader} label="the trader" rows=${9}>
      ${(/** @type {TraderDocument} */ document) => html`<${Body} document=${document} place=${place} since=${since} />`}
    </${Loaded}>`;
}

/** @param {{document: TraderDocument, place: import('../lib/router.js').Place, since: string | null}} props */
function Body({ document, place, since }) {
  const { audit, concerns, decisions, refusals, buckets } = document;
  if (audit === null && concerns.length === 0 && decisions.length === 0)
    return html`<${Empty} title="Nothing is known of a trader.">
      Does one run? <code>fleet trader list</code> lists what it can be told; its decisions appear here at once.
    </${Empty}>`;
  const known = new Set(buckets.flatMap(({ statuses }) => Object.keys(statuses)));
  const shown = [
    ...STATUSES.filter((status) => known.has(status)),
    ...[...known].filter((status) => !STATUSES.includes(status)),
  ];
  return html`<${Audit} audit=${audit} />
    <section aria-labelledby="concerns"><h2 id="concerns">Concerns</h2><${Concerns} concerns=${concerns} /></section>
    <${Books} place=${place} concerns=${concerns.map(({ concern_id }) => concern_id)} since=${since} />
    <section aria-labelledby="over-time"><h2 id="over-time">Decisions over time by outcome</h2>
      ${
        shown.length === 0
          ? html`<p class="note">No decision in this time.</p>`
          : html`<${StackedBars} title="Decisions over time by outcome" times=${buckets.map(({ at }) => at)} stepS=${document.bucket_s} format=${whole}
              series=${shown.map((status) => ({ name: status, values: buckets.map(({ statuses }) => statuses[status] ?? 0) }))} />`
      }
    </section>
    <div class="columns">
      <section aria-labelledby="decisions"><h2 id="decisions">Newest decisions</h2><${Decisions} decisions=${decisions} /></section>
      <section aria-labelledby="refusals"><h2 id="refusals">Why decisions were refused</h2><${Refusals} refusals=${refusals} /></section>
    </div>`;
}

/** @param {{audit: TraderDocument['audit']}} props */
const Audit = ({ audit }) =>
  audit === null
    ? html`<div class="notice"><p>No head of the audit log is known yet. The trader publishes one when it starts.</p></div>`
    : html`${
        audit.sound
          ? null
          : html`<div class="notice notice-bad" role="alert"><p>The audit log is not sound: ${audit.reason ?? 'its head went back'}. Compare it with <code>./fleet trader audit verify</code> before you trust a decision.</p></div>`
      }
      <dl class="figures">
        <${Figure} name="Audit log" value=${html`<${Health} ok=${audit.sound}>${audit.sound ? 'sound' : 'not sound'}</${Health}>`} note=${`highest record ever seen: ${whole(audit.highest)}`} />
        <${Figure} name="Newest record" value=${whole(audit.seq)} note=${html`<span class="mono">${audit.hash.slice(0, 16)}</span>`} />
        <${Figure} name="Head published" value=${html`<${Ago} at=${audit.at} />`} note=${dateTime(audit.at)} />
      </dl>`;

/** @param {{concerns: TraderDocument['concerns']}} props */
const Concerns = ({ concerns }) =>
  concerns.length === 0
    ? html`<p class="note">No concern has had a decision yet.</p>`
    : html`<table class="grid cards concerns">
        <thead><tr><th scope="col">Account and market</th><th scope="col">Strategy</th><th scope="col">Run state</th><th scope="col">Risk mode</th><th scope="col" class="num c-num">Reported</th></tr></thead>
        <tbody>${concerns.map(
          ({ concern_id, strategy_id, run_state, risk_mode, at }) => html`<tr key=${concern_id}>
            <th scope="row" class="wrap">${concern_id}</th><td class="wrap" data-label="Strategy">${strategy_id ?? UNKNOWN}</td><td data-label="Run state">${words(run_state ?? UNKNOWN)}</td>
            <td data-label="Risk mode">${words(risk_mode ?? UNKNOWN)}</td><td class="num" data-label="Reported"><${Ago} at=${at} suffix="" /></td>
          </tr>`,
        )}</tbody>
      </table>`;

/** @param {{decisions: TraderDocument['decisions']}} props */
const Decisions = ({ decisions }) =>
  decisions.length === 0
    ? html`<p class="note">No decision in this time.</p>`
    : html`<table class="grid decisions">
        <thead><tr><th scope="col" class="c-num">When</th><th scope="col">Decision</th><th scope="col">Outcome</th><th scope="col" class="num c-num wide">Record</th></tr></thead>
        <tbody>${decisions.map(
          (decision) => html`<tr key=${`${decision.decision_id} ${decision.at} ${decision.status}`}>
            <td><${Ago} at=${decision.at} suffix="" /></td>
            <th scope="row" class="wrap">${words(decision.action)}<span class="sub" title=${decision.decision_id}>${decision.concern_id}, by ${decision.caller}</span></th>
            <td class=${`wrap outcome-${decision.status}`}>${decision.status}<span class="sub" title=${decision.codes.join(', ')}>${decision.codes.join(', ')}</span></td>
            <td class="num wide">${whole(decision.audit_seq)}</td>
          </tr>`,
        )}</tbody>
      </table>`;

/** @param {{refusals: TraderDocument['refusals']}} props */
const Refusals = ({ refusals }) =>
  refusals.length === 0
    ? html`<p class="note">None was refused in this time.</p>`
    : html`<table class="grid">
        <thead><tr><th scope="col">Code</th><th scope="col" class="num c-num">Decisions</th></tr></thead>
        <tbody>${refusals.map(({ code, count }) => html`<tr key=${code}><th scope="row" class="wrap mono">${code}</th><td class="num">${whole(count)}</td></tr>`)}</tbody>
      </table>`;
