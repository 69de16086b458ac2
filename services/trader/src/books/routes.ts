import { writeFigures } from '@hermes-fleet/market';
import { invalidParams, isJsonObject } from '@hermes-fleet/protocol';
import { type Answer, TRADER } from '@hermes-fleet/protocol/api';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { serve } from '@hermes-fleet/service';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Access, mayTouch, NO_CONCERN, needScope, READ } from '../control/access.ts';
import type { BooksReader, ControlStore, StoredEntry } from '../control/control-store.ts';
import type { BookKeeper } from './book-keeper.ts';
import { csv } from './csv.ts';
import { readOrdersQuery, readPerformanceQuery } from './query.ts';

const FIRST = ['entry', 'recorded_at', 'at'];
const ORDER_COLUMNS = [
  ...[...FIRST, 'event', 'decision_id', 'id', 'strategy_id', 'side', 'kind', 'purpose', 'quantity'],
  ...['limit_price', 'fill_price', 'fee', 'realized_pnl', 'state', 'reason', 'placed_at', 'ended_at'],
];
const BAR_COLUMNS = [
  ...[...FIRST, 'decision_id', 'strategy_id', 'close', 'cash', 'position', 'realized_pnl', 'fees_paid'],
  'equity',
];

/**
 * `GET /books/orders`, `/books/fills` and `/books/performance`, as JSON or CSV (docs/trader.md#read-the-books). They require the
 * scope `trader:read` and access to the account. They throw FORBIDDEN, INVALID_PARAMS and STORE_UNAVAILABLE.
 */
export function registerBooks(
  app: FastifyInstance,
  options: {
    readonly store: Pick<ControlStore, 'concern' | 'concerns'>;
    readonly books: Pick<BooksReader, 'orders' | 'bars'>;
    readonly keeper: Pick<BookKeeper, 'analysis'>;
    readonly access: Access;
  },
): void {
  const { store, books, keeper, access } = options;
  /** The concern that is asked for; the only one of the caller by default. */
  function concernFor(caller: Caller, id: string | undefined): string {
    needScope(caller, READ);
    const own = store.concerns().filter(({ accountId }) => mayTouch(access, caller, accountId));
    const found = id === undefined ? own : own.filter((concern) => concern.id === id);
    const [only] = found;
    if (only !== undefined && found.length === 1) return only.id;
    const reason =
      id === undefined && own.length > 0
        ? `is needed, because there are several: ${own.map((concern) => concern.id).join(', ')}`
        : NO_CONCERN;
    throw invalidParams('concern_id', reason);
  }

  const orders =
    <K extends 'orders' | 'fills'>(kind: K) =>
    (request: FastifyRequest, reply: FastifyReply) => {
      const { concern_id, format, ...query } = readOrdersQuery(request.query);
      const concernId = concernFor(request.caller, concern_id);
      const found = books.orders({ ...query, kind, concernId });
      const last = found.at(-1);
      const next = found.length === query.limit && last !== undefined ? String(last.n) : null;
      const rows = found.map(orderView);
      if (format === 'csv') return sendCsv(reply, csv(ORDER_COLUMNS, rows), next);
      const page = { [kind]: rows } as Record<K, Order[]>;
      return { concern_id: concernId, ...page, next };
    };

  serve(app, TRADER.orders, orders('orders'));
  serve(app, TRADER.fills, orders('fills'));
  serve(app, TRADER.performance, (request, reply) => {
    const { concern_id, format, points, ...range } = readPerformanceQuery(request.query);
    const concernId = concernFor(request.caller, concern_id);
    const equity = books.bars({ concernId, ...range }, points).map(barView);
    if (format === 'csv') return sendCsv(reply, csv(BAR_COLUMNS, equity), null);
    const analysis = keeper.analysis(concernId);
    const since = analysis.since();
    return {
      concern_id: concernId,
      since: since === undefined ? null : new Date(since).toISOString(),
      total: writeFigures(analysis.total()),
      strategies: analysis
        .strategies()
        .map((part) => ({ strategy_id: part.id, ...writeFigures(part.figures) })),
      decisions: analysis.decisions().map(({ id, strategyId, figures }) => ({
        decision_id: id,
        strategy_id: strategyId,
        ...writeFigures(figures),
      })),
      equity,
    };
  });
}

type Order = Answer<typeof TRADER.fills>['fills'][number];
type EquityPoint = Answer<typeof TRADER.performance>['equity'][number];

/** An entry of an order, with the fields of the order beside those of the entry: `bookRecord` made it. */
function orderView({ n, entry }: StoredEntry): Order {
  const { order, kind: _kind, ...rest } = entry;
  return { entry: n, ...rest, ...(isJsonObject(order) ? order : {}) } as object as Order;
}

/** As `orderView`, of a bar. */
function barView({ n, entry }: StoredEntry): EquityPoint {
  const { kind: _kind, ...rest } = entry;
  return { entry: n, ...rest } as object as EquityPoint;
}

/** The number of the next page is in a header, since CSV has no place for it. */
function sendCsv(reply: FastifyReply, text: string, next: string | null): FastifyReply {
  if (next !== null) reply.header('fleet-next', next);
  return reply.type('text/csv; charset=utf-8').send(text);
}
