import { integer, json, type Queries, type Row, type Store, text } from '@hermes-fleet/store';
import type { BooksRange, BooksReader, OrdersQuery, StoredEntry } from '../control/control-store.ts';
import { escapeName } from './rows.ts';

const entryOf = (row: Row): StoredEntry => ({ n: integer(row, 'n'), entry: json(row, 'entry') });

export function createBooksReader(store: Pick<Store, 'read'>): BooksReader {
  return {
    after: (concernId, n, limit) =>
      store.read((db) =>
        db
          .all(
            'SELECT n, entry FROM books WHERE concern_id = ? AND n > ? ORDER BY n LIMIT ?',
            escapeName(concernId),
            n,
            limit,
          )
          .map(entryOf),
      ),
    orders: (query) => store.read((db) => ordersIn(db, query)),
    bars: (range, count) => store.read((db) => barsIn(db, range, count)),
  };
}

/** The partial index of each kind, and its condition as the index has it. */
const INDEXES = {
  orders: { name: 'books_orders', holds: "json_extract(entry, '$.kind') = 'order'" },
  fills: { name: 'books_fills', holds: "json_extract(entry, '$.event') = 'filled'" },
} as const;

function ordersIn(db: Queries, query: OrdersQuery): StoredEntry[] {
  const { kind, strategyId = null, decisionId = null, order, after, limit } = query;
  const { first, end } = boundsOf(db, query);
  const [from, to] =
    order === 'newest' ? [first, Math.min(end, after ?? end)] : [Math.max(first, (after ?? 0) + 1), end];
  return db
    .all(
      // SQLite would read all entries by the primary key, which it takes for as good as a partial index.
      `SELECT n, entry FROM books INDEXED BY ${INDEXES[kind].name} WHERE concern_id = ? AND n >= ? AND n < ?
         AND ${INDEXES[kind].holds}
         AND (? IS NULL OR json_extract(entry, '$.order.strategy_id') = ?)
         AND (? IS NULL OR json_extract(entry, '$.decision_id') = ?)
       ORDER BY n ${order === 'newest' ? 'DESC' : 'ASC'} LIMIT ?`,
      ...[escapeName(query.concernId), from, to],
      ...[strategyId, strategyId, decisionId, decisionId, limit],
    )
    .map(entryOf);
}

function barsIn(db: Queries, range: BooksRange, count: number): StoredEntry[] {
  const { first, end } = boundsOf(db, range);
  const id = escapeName(range.concernId);
  const step = Math.max(1, (end - first) / count);
  const found = new Map<number, StoredEntry>();
  for (let at = end; at > first && found.size < count; at -= step) {
    const row = db.get(
      `SELECT n, entry FROM books WHERE concern_id = ? AND n < ? AND n >= ? AND json_extract(entry, '$.kind') = 'bar'
       ORDER BY n DESC LIMIT 1`,
      ...[id, Math.ceil(at), first],
    );
    if (row === undefined) break;
    const entry = entryOf(row);
    found.set(entry.n, entry);
  }
  return [...found.values()].reverse();
}

/** The numbers from `first` on and below `end` are in the range. Times never go back, so both are searched. */
function boundsOf(db: Queries, { concernId, from, to }: BooksRange): { first: number; end: number } {
  const id = escapeName(concernId);
  // In one SELECT, min and max would read all entries.
  const row = db.get(
    `SELECT (SELECT min(n) FROM books WHERE concern_id = ?1) AS low,
       (SELECT max(n) FROM books WHERE concern_id = ?1) AS high`,
    id,
  );
  if (row === undefined || row.low === null) return { first: 0, end: 0 };
  const [low, high] = [integer(row, 'low'), integer(row, 'high')];
  return {
    first: from === undefined ? low : searchTime(db, id, { low, high, at: from }),
    end: to === undefined ? high + 1 : searchTime(db, id, { low, high, at: to }),
  };
}

/** The number of the first entry at a time or later; `high + 1` if there is none. */
function searchTime(
  db: Queries,
  id: string,
  { low, high, at }: { readonly low: number; readonly high: number; readonly at: number },
): number {
  const wanted = new Date(at).toISOString();
  let [from, to] = [low, high + 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const row = db.get(
      `SELECT n, json_extract(entry, '$.recorded_at') AS at FROM books
       WHERE concern_id = ? AND n >= ? ORDER BY n LIMIT 1`,
      id,
      middle,
    );
    if (row === undefined || text(row, 'at') >= wanted) to = middle;
    else from = integer(row, 'n') + 1;
  }
  return from;
}
