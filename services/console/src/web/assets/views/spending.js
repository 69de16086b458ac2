import { consoleNow, query } from '../lib/api.js';
import { compact, money, percent, UNKNOWN, whole } from '../lib/format.js';
import { useResource } from '../lib/hooks.js';
import { changeParams, href, taskHref } from '../lib/router.js';
import { html } from '../lib/vendor.js';
import { Bar, Figure } from '../parts/basics.js';
import { StackedBars } from '../parts/chart.js';
import { Empty, Loaded } from '../parts/notices.js';
import { Choice, Range, sinceOf } from '../parts/range.js';

const FALLBACK = '24h';
/** @type {Readonly<Record<string, string>>} */
const GROUPS = { profile: 'profile', tier: 'tier', model: 'model', caller: 'caller', tree: 'task tree' };

/** @typedef {import('../../../http/spending.ts').SpendingDocument} SpendingDocument */

/** What the fleet spent, on what and for whom. @param {{place: import('../lib/router.js').Place}} props */
export function SpendingView({ place }) {
  const range = place.params['since'] ?? FALLBACK;
  const by = place.params['by'] ?? 'profile';
  const spending = useResource(`/api/spending${query({ since: sinceOf(range, consoleNow()), by })}`, [
    'spending',
  ]);
  return html`<div class="view-head"><h1>Spending</h1>
      <div class="filters"><${Choice} label="By" value=${by} options=${Object.entries(GROUPS)} choose=${(/** @type {string} */ group) => changeParams(place, { by: group })} /><${Range} place=${place} fallback=${FALLBACK} /></div>
    </div>
    <${Loaded} resource=${spending} label="the spending" rows=${9}>
      ${(/** @type {SpendingDocument} */ document) => html`<${Body} document=${document} by=${GROUPS[by] ?? by} />`}
    </${Loaded}>`;
}

/** @param {readonly any[]} rows @param {(row: any) => number} value */
const sum = (rows, value) => rows.reduce((total, row) => total + value(row), 0);

/** @param {{document: SpendingDocument, by: string}} props */
function Body({ document, by }) {
  const { totals, keys, buckets, currency, unpriced } = document;
  const tokens = sum(totals, (row) => row.tokens);
  if (tokens === 0)
    return html`<${Empty} title="No token was spent in this time.">Choose a longer time, or <a href=${href(['send'])}>send a task</a>.</${Empty}>`;
  const cached = sum(totals, (row) => row.usage.cache_read_tokens);
  const costs = totals.filter(({ cost }) => cost !== null);
  const cost = costs.length === 0 ? null : sum(costs, (row) => row.cost);
  const title = `Tokens over time by ${by}`;
  return html`<dl class="figures">
      <${Figure} name="Tokens" value=${compact(tokens)} note=${whole(tokens)} />
      <${Figure} name="Cost" value=${money(cost, currency)} note=${currency === null ? 'no price table is configured' : unpriced.length > 0 ? 'of models with a price' : null} />
      <${Figure} name="Read from caches" value=${compact(cached)} note=${`${percent(cached, cached + sum(totals, (row) => row.usage.input_tokens))} of the input`} />
      <${Figure} name="Reasoning" value=${compact(sum(totals, (row) => row.usage.reasoning_tokens))} note="part of the output" />
      <${Figure} name="Over their budget" value=${whole(sum(totals, (row) => row.overruns))} note="tasks" />
    </dl>
    ${unpriced.length === 0 || currency === null ? null : html`<div class="notice"><p>No price for ${unpriced.join(', ')}: their cost is not known. Add them to <code>console.prices</code>.</p></div>`}
    <section aria-labelledby="over-time"><h2 id="over-time">${title}</h2>
      <${StackedBars} title=${title} times=${buckets.map(({ at }) => at)} stepS=${document.bucket_s} format=${compact}
        series=${keys.map((name, at) => ({ name: name === '' ? 'unknown' : name, values: buckets.map((bucket) => bucket.tokens[at] ?? 0) }))} />
    </section>
    <${Totals} totals=${totals} all=${tokens} by=${by} />
    <${Trees} trees=${document.trees} />`;
}

/** @param {{totals: SpendingDocument['totals'], all: number, by: string}} props */
const Totals = ({ totals, all, by }) =>
  html`<section aria-labelledby="totals"><h2 id="totals">Totals by ${by}</h2>
    <div class="scroll" tabindex="0" role="group" aria-labelledby="totals"><table class="grid totals">
      <thead><tr>
        <th scope="col" class="c-key">${by.charAt(0).toUpperCase()}${by.slice(1)}</th><th scope="col" class="num c-num">Tokens</th><th scope="col" class="num c-num">Share</th>
        <th scope="col" class="num c-num">Input</th><th scope="col" class="num c-num">Cached</th><th scope="col" class="num c-num">Output</th>
        <th scope="col" class="num c-num">Reasoning</th><th scope="col" class="num c-num">Tasks</th><th scope="col" class="num c-num">Over budget</th><th scope="col" class="num c-num">Cost</th>
      </tr></thead>
      <tbody>${totals.map(
        ({ key, tokens, usage, tasks, overruns, cost }) => html`<tr key=${key}>
          <th scope="row">${key === '' ? 'unknown' : key}</th><td class="num">${compact(tokens)}</td><td class="num">${percent(tokens, all)}</td>
          <td class="num">${compact(usage.input_tokens)}</td><td class="num">${compact(usage.cache_read_tokens)}</td><td class="num">${compact(usage.output_tokens)}</td>
          <td class="num">${compact(usage.reasoning_tokens)}</td><td class="num">${whole(tasks)}</td><td class="num">${whole(overruns)}</td><td class="num">${money(cost)}</td>
        </tr>`,
      )}</tbody>
    </table></div>
  </section>`;

/** @param {{trees: SpendingDocument['trees']}} props */
const Trees = ({ trees }) =>
  html`<section aria-labelledby="trees"><h2 id="trees">Tasks that spent the most, with their parts</h2>
    ${
      trees.length === 0
        ? html`<p class="note">${UNKNOWN}</p>`
        : html`<table class="grid trees">
            <thead><tr><th scope="col">Task</th><th scope="col" class="c-bar">Tokens of budget</th><th scope="col" class="num c-cost">Cost</th></tr></thead>
            <tbody>${trees.map(
              (tree) => html`<tr key=${`${tree.profile}/${tree.id}`}>
                <th scope="row"><a data-row href=${taskHref(tree)}>${tree.task_id}</a><span class="sub">${tree.caller} at ${tree.profile}</span></th>
                <td class="c-bar"><${Bar} label="Tokens" value=${tree.tokens} limit=${tree.budget_tokens}
                  text=${tree.budget_tokens === null ? compact(tree.tokens) : `${compact(tree.tokens)} / ${compact(tree.budget_tokens)}`} /></td>
                <td class="num c-cost">${money(tree.cost)}</td>
              </tr>`,
            )}</tbody>
          </table>`
    }
  </section>`;
