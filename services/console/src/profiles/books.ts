import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { ProfileAddress, ProfileClient } from './client.ts';

const text = z.string().max(1_000);
const amount = text.regex(/^-?\d+(\.\d+)?$/);
const ratio = z.number().nullable();
const count = z.int().nonnegative();

const figures = {
  bars: count,
  opening_equity: amount,
  equity: amount,
  return: ratio,
  drawdown: z.number(),
  max_drawdown: z.number(),
  sharpe: ratio,
  sortino: ratio,
  exposure: ratio,
  fills: count,
  sales: count,
  win_rate: ratio,
  profit_factor: ratio,
  realized_profit: amount,
  fees: amount,
};

const Performance = z.object({
  concern_id: text,
  since: text.nullable(),
  total: z.object(figures),
  strategies: z.array(z.object({ strategy_id: text.nullable(), ...figures })),
  decisions: z.array(z.object({ decision_id: text.nullable(), strategy_id: text.nullable(), ...figures })),
  equity: z.array(z.object({ recorded_at: text, at: text, close: amount, equity: amount })),
});

const Fills = z.object({
  fills: z.array(
    z.object({
      entry: count,
      recorded_at: text,
      at: text,
      decision_id: text.nullable(),
      strategy_id: text,
      side: z.enum(['buy', 'sell']),
      quantity: amount,
      fill_price: amount,
      fee: amount,
      realized_pnl: amount.optional(),
    }),
  ),
  next: text.nullable(),
});

const Strategies = z.object({ strategies: z.array(z.object({ id: text, name: text })) });

/** The answers of the trader to `GET /books/performance` and `/books/fills` (docs/trader.md#read-the-books). */
export interface TraderBooks {
  readonly performance: z.output<typeof Performance>;
  readonly fills: z.output<typeof Fills>;
  /** The names of the strategies, by id. */
  readonly names: ReadonlyMap<string, string>;
}

export interface BooksQuery {
  /** The only concern of the caller by default. */
  readonly concern_id?: string | undefined;
  readonly from: string;
  readonly to: string;
}

/** The page does not wait longer. */
const BOOKS_MS = 5_000;
const MAX_POINTS = 300;
const MAX_FILLS = 500;

/** Reads the books of a concern. Throws as `ProfileClient`, and PEER_REFUSED for an answer that is none. */
export async function readBooks(
  client: ProfileClient,
  trader: ProfileAddress,
  token: string,
  query: BooksQuery,
): Promise<TraderBooks> {
  const read = (path: string, more: Readonly<Record<string, string>>): Promise<JsonObject> =>
    client.call(trader, token, `${path}?${searchOf(query, more)}`, undefined, BOOKS_MS);
  const [performance, fills, { strategies }] = await Promise.all([
    read('/books/performance', { points: `${MAX_POINTS}` }).then(checked(trader, Performance)),
    read('/books/fills', { limit: `${MAX_FILLS}` }).then(checked(trader, Fills)),
    client.rpc(trader, token, 'list_strategies', {}, BOOKS_MS).then(checked(trader, Strategies)),
  ]);
  return { performance, fills, names: new Map(strategies.map(({ id, name }) => [id, name])) };
}

export type ExportKind = 'orders' | 'fills' | 'equity';

/** Entries of a page, and points of the equity. */
const PAGE = 1_000;

/**
 * The pages of a CSV export, oldest entries first; only the first has the header. Equity has one page. Throws as
 * `ProfileClient`, the first time before anything is given.
 */
export async function* exportPages(
  client: ProfileClient,
  trader: ProfileAddress,
  token: string,
  kind: ExportKind,
  query: BooksQuery,
): AsyncGenerator<string, void> {
  const isEquity = kind === 'equity';
  const path = isEquity ? '/books/performance' : `/books/${kind}`;
  const size: Record<string, string> = isEquity
    ? { points: `${PAGE}` }
    : { limit: `${PAGE}`, order: 'oldest' };
  let after: string | null = null;
  do {
    const more = { format: 'csv', ...size, ...(after !== null && { after }) };
    const { text: page, headers } = await client.text(trader, token, `${path}?${searchOf(query, more)}`);
    yield after === null ? page : page.slice(page.indexOf('\n') + 1);
    after = headers.get('fleet-next');
  } while (after !== null);
}

function searchOf(
  { concern_id, from, to }: BooksQuery,
  more: Readonly<Record<string, string>>,
): URLSearchParams {
  return new URLSearchParams({ ...(concern_id !== undefined && { concern_id }), from, to, ...more });
}

const checked =
  <S extends z.ZodType>({ name }: ProfileAddress, schema: S) =>
  (answer: JsonObject): z.output<S> => {
    const read = schema.safeParse(answer);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const where = issue ? `: ${issue.path.join('.')} ${issue.message}` : '';
    throw new FleetError(
      'PEER_REFUSED',
      `${name} answers with books that cannot be read${where}`.slice(0, 500),
    );
  };
