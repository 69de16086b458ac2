import { counted, dateTime, money, UNKNOWN, whole, words } from '../lib/format.js';
import { html } from '../lib/vendor.js';
import { Ago, Figure } from '../parts/basics.js';

/**
 * @typedef {import('../../../http/trader-books.ts').BooksDocument} BooksDocument
 * @typedef {import('../../../http/trader-books.ts').BooksDocument['total']} Figures
 */

/** Fills that the page lists; the CSV has all of them. */
const SHOWN_FILLS = 50;

/** @param {number | null} value */
const share = (value) => (value === null ? UNKNOWN : `${(value * 100).toFixed(2)}%`);
/** @param {number | null} value */
const ratio = (value) => (value === null ? UNKNOWN : value.toFixed(2));
/** An amount, with all its digits as the title. @param {string} text */
const amount = (text) => html`<span title=${text}>${money(Number(text))}</span>`;
/** What a part earned. @param {Figures} figures */
const profit = ({ equity, opening_equity }) => money(Number(equity) - Number(opening_equity));

/** @param {{total: Figures}} props */
export const BooksFigures = ({ total }) =>
  html`<dl class="figures books-figures">
    <${Figure} name="Return" value=${share(total.return)} note=${`exposure ${share(total.exposure)}`} />
    <${Figure} name="Max drawdown" value=${share(total.max_drawdown)} note=${`${share(total.drawdown)} now`} />
    <${Figure} name="Sharpe" value=${ratio(total.sharpe)} note="a year" />
    <${Figure} name="Sortino" value=${ratio(total.sortino)} note="a year" />
    <${Figure} name="Win rate" value=${share(total.win_rate)} note=${`of ${counted(total.sales, 'sale')}`} />
    <${Figure} name="Profit factor" value=${ratio(total.profit_factor)} note="profits by losses of sales" />
    <${Figure} name="Realized profit" value=${amount(total.realized_profit)} note="without fees" />
    <${Figure} name="Fees" value=${amount(total.fees)} note=${`of ${counted(total.fills, 'fill')}`} />
  </dl>`;

/** The columns that strategies and decisions share. */
const head =
  () => html`<th scope="col" class="num c-num">Return</th><th scope="col" class="num c-num">Profit</th><th scope="col" class="num c-num">Max drawdown</th>
  <th scope="col" class="num c-num">Win rate</th><th scope="col" class="num c-num">Fills</th><th scope="col" class="num c-num">Fees</th>`;

/** @param {Figures} part */
const cells = (part) =>
  html`<td class="num" data-label="Return">${share(part.return)}</td><td class="num" data-label="Profit">${profit(part)}</td>
    <td class="num" data-label="Max drawdown">${share(part.max_drawdown)}</td><td class="num" data-label="Win rate">${share(part.win_rate)}</td>
    <td class="num" data-label="Fills">${whole(part.fills)}</td><td class="num" data-label="Fees">${amount(part.fees)}</td>`;

/** @param {{strategies: BooksDocument['strategies']}} props */
export const StrategyTable = ({ strategies }) =>
  strategies.length === 0
    ? html`<p class="note">No bar yet.</p>`
    : html`<table class="grid cards books" aria-labelledby="by-strategy">
        <thead><tr><th scope="col">Strategy</th>${head()}</tr></thead>
        <tbody>${strategies.map(
          (part) => html`<tr key=${String(part.strategy_id)}>
            <th scope="row" class="wrap">${nameOf(part)}<span class="sub">${part.strategy_id ?? ''}</span></th>${cells(part)}
          </tr>`,
        )}</tbody>
      </table>`;

/** @param {{decisions: BooksDocument['decisions']}} props */
export const DecisionTable = ({ decisions }) =>
  decisions.length === 0
    ? html`<p class="note">No bar yet.</p>`
    : html`<div class="tall" tabindex="0" role="group" aria-labelledby="by-decision">
        <table class="grid cards books" aria-labelledby="by-decision">
          <thead><tr><th scope="col">Decision, and the time up to the next one</th>${head()}</tr></thead>
          <tbody>${decisions.map(
            (part) => html`<tr key=${String(part.decision_id)}>
              <th scope="row" class="wrap" title=${part.decision_id ?? ''}>${actionOf(part)}<span class="sub">${whoOf(part)}</span></th>${cells(part)}
            </tr>`,
          )}</tbody>
        </table>
      </div>`;

/** @param {{strategy_id: string | null, name: string | null}} of */
const nameOf = ({ strategy_id, name }) => (strategy_id === null ? 'no strategy' : (name ?? strategy_id));

/** @param {BooksDocument['decisions'][number]} part */
const actionOf = ({ decision_id, action, ...part }) =>
  decision_id === null
    ? `as configured: ${nameOf(part)}`
    : `${action === null ? decision_id : words(action)}: ${nameOf(part)}`;

/** @param {BooksDocument['decisions'][number]} part */
function whoOf({ decision_id, caller, at }) {
  if (decision_id === null) return 'before the first decision';
  return caller === null || at === null
    ? 'not in the events that the console has'
    : html`by ${caller}, <${Ago} at=${at} />`;
}

/** @param {{fills: BooksDocument['fills'], hasAll: boolean}} props */
export function FillTable({ fills, hasAll }) {
  if (fills.length === 0) return html`<p class="note">No fill in this time.</p>`;
  const shown = fills.slice(0, SHOWN_FILLS);
  const isPart = !hasAll || shown.length < fills.length;
  return html`<div class="tall" tabindex="0" role="group" aria-labelledby="last-fills">
      <table class="grid cards books" aria-labelledby="last-fills">
        <thead><tr><th scope="col">Fill</th><th scope="col" class="num c-num">Quantity</th><th scope="col" class="num c-num">Price</th>
          <th scope="col" class="num c-num">Fee</th><th scope="col" class="num c-num">Realized</th><th scope="col" class="num c-num">When</th></tr></thead>
        <tbody>${shown.map(
          (fill) => html`<tr key=${fill.entry}>
            <th scope="row" class="wrap" title=${dateTime(fill.recorded_at)}>${fill.side}<span class="sub">${fill.name ?? fill.strategy_id}</span></th>
            <td class="num" data-label="Quantity">${fill.quantity}</td><td class="num" data-label="Price">${fill.price}</td>
            <td class="num" data-label="Fee">${amount(fill.fee)}</td>
            <td class="num" data-label="Realized">${fill.realized_profit === null ? UNKNOWN : amount(fill.realized_profit)}</td>
            <td class="num" data-label="When"><${Ago} at=${fill.recorded_at} suffix="" /></td>
          </tr>`,
        )}</tbody>
      </table>
    </div>
    ${isPart ? html`<p class="note">The last ${whole(shown.length)} of this time${hasAll ? '' : `; the chart has the last ${whole(fills.length)}`}.</p>` : null}`;
}
