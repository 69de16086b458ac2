import { Readable } from 'node:stream';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import {
  type BooksQuery,
  type ExportKind,
  exportPages,
  readBooks,
  type TraderBooks,
} from '../profiles/books.ts';
import type { Range } from '../read-model/ranges.ts';
import { iso } from '../read-model/task-rows.ts';
import { appliedIn } from '../read-model/trader.ts';
import { sessionOf } from '../session/guard.ts';
import { type ActionOptions, addressOf } from './actions.ts';
import type { BooksDocument } from './books-api.ts';
import { readInput } from './query.ts';
import { RANGE_QUERY, rangeIn } from './range-query.ts';
import { tokenOf } from './token.ts';

const Query = z.strictObject({ concern_id: z.string().min(1).max(256).optional(), ...RANGE_QUERY });

const KINDS: Readonly<Record<string, ExportKind>> = {
  'orders.csv': 'orders',
  'fills.csv': 'fills',
  'equity.csv': 'equity',
};
const MAX_APPLIED = 500;
/** A download that takes longer is broken off. */
const EXPORT_MS = 300_000;

export interface BooksOptions extends ActionOptions {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  /** The name of the trader among the profiles. */
  readonly trader: string;
}

/**
 * `GET /api/trader/books` and the CSV files beside it: what the trader answers to the session's token (docs/console.md#api).
 * The read model supplies the decisions and their callers.
 */
export function registerTraderBooks(scope: FastifyInstance, options: BooksOptions): void {
  const { client, store, clock } = options;
  const address = () => addressOf(options, { profile: options.trader });
  scope.get('/api/trader/books', async (request): Promise<BooksDocument> => {
    const token = tokenOf(sessionOf(request));
    const { range, query } = spanIn(request.query, clock);
    const books = await readBooks(client, address(), token, query);
    const applied = store.read((db) => appliedIn(db, books.performance.concern_id, range.until, MAX_APPLIED));
    return booksDocument(books, applied, range.since);
  });
  scope.get<{ Params: { readonly file: string } }>('/api/trader/books/:file', async (request, reply) => {
    const { file } = request.params;
    const kind = Object.hasOwn(KINDS, file) ? KINDS[file] : undefined;
    if (kind === undefined)
      throw new FleetError('NOT_FOUND', 'there are orders.csv, fills.csv and equity.csv');
    const token = tokenOf(sessionOf(request));
    const { query } = spanIn(request.query, clock);
    const pages = exportPages(client, address(), token, kind, query);
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

function spanIn(input: unknown, clock: Clock): { readonly range: Range; readonly query: BooksQuery } {
  const { concern_id, ...span } = readInput(Query, input);
  const range = rangeIn(span, clock);
  return { range, query: { concern_id, from: iso(range.since), to: iso(range.until) } };
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
): BooksDocument {
  const nameOf = (id: string | null): string | null => (id === null ? null : (names.get(id) ?? null));
  const decided = new Map(applied.map((decision) => [decision.decisionId, decision]));
  return {
    concern_id: performance.concern_id,
    measured_since: performance.since,
    total: performance.total,
    strategies: performance.strategies.map((part) => ({ ...part, name: nameOf(part.strategy_id) })),
    decisions: performance.decisions.map((part) => {
      const decision = part.decision_id === null ? undefined : decided.get(part.decision_id);
      return {
        ...part,
        at: decision ? iso(decision.at) : null,
        action: decision?.action ?? null,
        caller: decision?.caller ?? null,
        name: nameOf(part.strategy_id),
      };
    }),
    points: withDrawdown(performance.equity),
    fills: fills.fills.map(({ fill_price: price, realized_pnl: realized, ...fill }) => ({
      ...fill,
      name: nameOf(fill.strategy_id),
      price,
      realized_profit: realized ?? null,
    })),
    has_all_fills: fills.next === null,
    marks: applied
      .filter(({ at }) => at >= since)
      .map(({ at, decisionId, action, caller }) => ({
        at: iso(at),
        decision_id: decisionId,
        action,
        caller,
      })),
  };
}

function withDrawdown(points: TraderBooks['performance']['equity']): BooksDocument['points'] {
  let peak = 0;
  return points.map((point) => {
    const equity = Number(point.equity);
    peak = Math.max(peak, equity);
    return { ...point, drawdown: peak > 0 ? (peak - equity) / peak : 0 };
  });
}
