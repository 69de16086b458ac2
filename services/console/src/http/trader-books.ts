import { Readable } from 'node:stream';
import { type ApiClient, csvPages, type Read, type Service } from '@hermes-fleet/net/api';
import { FleetError } from '@hermes-fleet/protocol';
import { BooksFigures, TRADER, TRADER_RPC } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Range } from '../read-model/ranges.ts';
import { iso } from '../read-model/task-rows.ts';
import { appliedIn } from '../read-model/trader.ts';
import { serviceFor } from './actions.ts';
import type { ApiOptions } from './options.ts';
import { RANGE_QUERY, rangeIn, readInput } from './query.ts';

const Query = z.strictObject({ concern_id: z.string().min(1).max(256).optional(), ...RANGE_QUERY });

const oldest = { order: 'oldest' };
/** What is asked of the trader for a file, and how many rows at most; equity has its points on one page. */
const FILES: Readonly<Record<string, { path: string; query: Record<string, string>; limit?: number }>> = {
  'orders.csv': { path: TRADER.orders.path, query: oldest, limit: Number.POSITIVE_INFINITY },
  'fills.csv': { path: TRADER.fills.path, query: oldest, limit: Number.POSITIVE_INFINITY },
  'equity.csv': { path: TRADER.performance.path, query: { points: '1000' } },
};
const MAX_APPLIED = 500;
/** A download that takes longer is broken off. */
const EXPORT_MS = 300_000;

/**
 * `GET /api/trader/books` and the CSV files beside it: what the trader answers to the session's token (docs/console.md#api).
 * The read model supplies the decisions and their callers.
 */
export function registerTraderBooks(scope: FastifyInstance, options: ApiOptions): void {
  const { client, store, clock } = options;
  scope.get('/api/trader/books', async (request) => {
    const trader = serviceFor(request, options.trader, options);
    const { range, query } = spanIn(request.query, clock);
    const books = await readBooks(client, trader, query);
    const applied = store.read((db) => appliedIn(db, books.performance.concern_id, range.until, MAX_APPLIED));
    return booksDocument(books, applied, range.since);
  });
  scope.get<{ Params: { readonly file: string } }>('/api/trader/books/:file', async (request, reply) => {
    const { file } = request.params;
    const found = Object.hasOwn(FILES, file) ? FILES[file] : undefined;
    if (found === undefined)
      throw new FleetError('NOT_FOUND', 'there are orders.csv, fills.csv and equity.csv');
    const trader = serviceFor(request, options.trader, options);
    const { query } = spanIn(request.query, clock);
    const pages = csvPages(client, trader, found.path, { ...query, ...found.query }, found.limit);
    // A refusal of the trader becomes an answer with its reason, because a download would only break off.
    const first = await pages.next();
    reply.headers({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${file}"`,
      'content-security-policy': "default-src 'none'; sandbox",
    });
    return await reply.send(Readable.from(within(clock, first.value ?? '', pages)));
  });
}

/** The answers of the trader to `GET /books/performance` and `/books/fills` (docs/trader.md#read-the-books). */
interface TraderBooks {
  readonly performance: Read<typeof TRADER.performance>;
  readonly fills: Read<typeof TRADER.fills>;
  /** The names of the strategies, by id. */
  readonly names: ReadonlyMap<string, string>;
}

/** The page does not wait longer. */
const BOOKS_MS = 5_000;
const MAX_POINTS = 300;
const MAX_FILLS = 500;

/** Reads the books of a concern. Throws as the client. */
async function readBooks(
  client: ApiClient,
  trader: Service,
  query: Readonly<Record<string, string>>,
): Promise<TraderBooks> {
  const timeoutMs = BOOKS_MS;
  const [performance, fills, { strategies }] = await Promise.all([
    client.call(trader, TRADER.performance, { query: { ...query, points: `${MAX_POINTS}` }, timeoutMs }),
    client.call(trader, TRADER.fills, { query: { ...query, limit: `${MAX_FILLS}` }, timeoutMs }),
    client.rpc(trader, TRADER_RPC.listStrategies, {}, { timeoutMs }),
  ]);
  return { performance, fills, names: new Map(strategies.map(({ id, name }) => [id, name])) };
}

function spanIn(
  input: unknown,
  clock: Clock,
): { readonly range: Range; readonly query: Readonly<Record<string, string>> } {
  const { concern_id, ...span } = readInput(Query, input);
  const range = rangeIn(span, clock);
  return {
    range,
    query: { ...(concern_id !== undefined && { concern_id }), from: iso(range.since), to: iso(range.until) },
  };
}

/** The pages; throws when they take too long, which breaks the download off. */
async function* within(
  clock: Pick<Clock, 'now'>,
  first: string,
  rest: AsyncIterable<string>,
): AsyncGenerator<string, void> {
  const end = clock.now() + EXPORT_MS;
  yield first;
  for await (const page of rest) {
    if (clock.now() > end)
      throw new FleetError(
        'PEER_REFUSED',
        `the export takes more than ${EXPORT_MS / 1_000} s: choose less time`,
      );
    yield page;
  }
}

function booksDocument(
  { performance, fills, names }: TraderBooks,
  applied: ReturnType<typeof appliedIn>,
  since: number,
) {
  const nameOf = (id: string | null): string | null => (id === null ? null : (names.get(id) ?? null));
  const decided = new Map(applied.map((decision) => [decision.decision_id, decision]));
  return {
    concern_id: performance.concern_id,
    /** Since when the figures are measured; null before the first entry. */
    measured_since: performance.since,
    total: BooksFigures.parse(performance.total),
    /** The ID is null where no strategy was active. */
    strategies: performance.strategies.map(({ strategy_id, ...part }) => ({
      strategy_id,
      ...BooksFigures.parse(part),
      name: nameOf(strategy_id),
    })),
    /**
     * The last 100 that took effect, the newest first; the ID is null before the first one. Time, action and caller are from the
     * read model, and null where it does not know the decision.
     */
    decisions: performance.decisions.map(({ decision_id, strategy_id, ...part }) => {
      const { at = null, action = null, caller = null } = decided.get(decision_id ?? '') ?? {};
      return {
        ...{ decision_id, strategy_id, ...BooksFigures.parse(part) },
        ...{ at, action, caller },
        name: nameOf(strategy_id),
      };
    }),
    points: withDrawdown(performance.equity),
    /** The newest first, at most 500. */
    fills: fills.fills.map((fill) => {
      const { entry, recorded_at, at, decision_id, strategy_id, quantity, fee } = fill;
      const side: 'buy' | 'sell' = fill.side === 'buy' ? 'buy' : 'sell';
      return {
        ...{ entry, recorded_at, at, decision_id, strategy_id, side, quantity, fee },
        name: nameOf(strategy_id),
        price: fill.fill_price,
        /** The realized profit of a sale, without fees; null for a buy. */
        realized_profit: fill.realized_pnl ?? null,
      };
    }),
    /** False when the span has older fills. */
    has_all_fills: fills.next === null,
    /** Applied decisions, the newest first, at most 500. */
    marks: applied.filter(({ at }) => Date.parse(at) >= since),
  };
}

/**
 * `GET /api/trader/books?concern_id=&since=&until=`, with the session's token: the books of the trader (docs/console.md#api).
 * The figures are of the whole time, `points`, `fills` and `marks` of the span.
 */
export type BooksDocument = ReturnType<typeof booksDocument>;

/** The account at up to 300 bars, evenly spaced, the oldest first. `drawdown` is from the highest of these points so far. */
function withDrawdown(points: TraderBooks['performance']['equity']) {
  let peak = 0;
  return points.map(({ recorded_at, at, close, equity }) => {
    peak = Math.max(peak, Number(equity));
    return { recorded_at, at, close, equity, drawdown: peak > 0 ? (peak - Number(equity)) / peak : 0 };
  });
}
