import { query } from '../lib/api.js';
import { counted, dateTime, money } from '../lib/format.js';
import { useResource } from '../lib/hooks.js';
import { changeParams } from '../lib/router.js';
import { askForToken, useSession } from '../lib/session.js';
import { html } from '../lib/vendor.js';
import { ErrorNotice, Skeleton } from '../parts/notices.js';
import { Choice } from '../parts/range.js';
import { BooksCharts } from './books-charts.js';
import { BooksFigures, DecisionTable, FillTable, StrategyTable } from './books-tables.js';

/** @typedef {import('../../../http/trader-books.ts').BooksDocument} BooksDocument */

const WHY = 'reading the books of the trader.';

/**
 * The books of a concern, which the trader shows to a person's token. The rest of the page does not wait for them.
 * @param {{place: import('../lib/router.js').Place, concerns: readonly string[], since: string | null}} props
 */
export function Books({ place, concerns, since }) {
  const { session } = useSession();
  const chosen = place.params['concern'] ?? concerns[0] ?? null;
  const hasToken = (session?.caller ?? null) !== null;
  return html`<section aria-labelledby="books">
    <div class="view-head"><h2 id="books">Books</h2>
      ${concerns.length > 1 ? html`<${Choice} label="Account and market" value=${chosen} options=${concerns.map((name) => [name, name])} choose=${(/** @type {string} */ concern) => changeParams(place, { concern })} />` : null}
    </div>
    ${hasToken ? html`<${Read} key=${chosen} concern=${chosen} since=${since} />` : html`<${NeedsToken} />`}
  </section>`;
}

/** @param {{given?: () => void}} props */
const NeedsToken = ({ given = () => {} }) =>
  html`<p class="note">Price, equity and performance are in the trader's books, which it shows to callers with <code>trader:read</code>.</p>
    <button type="button" onClick=${async () => {
      if (await askForToken(WHY)) given();
    }}>Show them with my token</button>`;

/** @param {{concern: string | null, since: string | null}} props */
function Read({ concern, since }) {
  const asked = query({ concern_id: concern, since });
  const { data, error, loading, reload } = useResource(`/api/trader/books${asked}`, ['trader']);
  if (loading) return html`<${Skeleton} rows=${9} label="Loading the books" />`;
  if (error?.code === 'TOKEN_NEEDED') return html`<${NeedsToken} given=${reload} />`;
  return html`${error === null ? null : html`<${ErrorNotice} error=${error} retry=${reload} kept=${data !== null} />`}
    ${data === null ? null : html`<${Body} books=${data} asked=${asked} />`}`;
}

/** @param {{books: BooksDocument, asked: string}} props */
function Body({ books, asked }) {
  const { measured_since: since, total, strategies, decisions, fills, has_all_fills } = books;
  if (since === null)
    return html`<p class="note">The books have no entry yet: the first one comes with the first bar.</p>`;
  return html`<p class="note">Equity ${money(Number(total.equity))} from ${money(Number(total.opening_equity))}. Measured over ${counted(total.bars, 'bar')} since <time datetime=${since}>${dateTime(since)}</time>; charts and fills are of the time chosen above.</p>
    <${BooksFigures} total=${total} />
    <${BooksCharts} books=${books} />
    <h3 id="by-strategy">Each strategy while it was active</h3><${StrategyTable} strategies=${strategies} />
    <h3 id="by-decision">What each decision changed</h3><${DecisionTable} decisions=${decisions} />
    <h3 id="last-fills">Last fills</h3><${FillTable} fills=${fills} hasAll=${has_all_fills} />
    <p class="note downloads">As CSV, of the time chosen above:
      ${['orders', 'fills', 'equity'].map((name) => html`${' '}<a key=${name} href=${`/api/trader/books/${name}.csv${asked}`} download=${`${name}.csv`}>${name}</a>`)}
    </p>`;
}
