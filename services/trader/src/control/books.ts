import type { JsonObject } from '@hermes-fleet/protocol';

/** A stored entry of the books (docs/trader.md#books). */
export interface StoredEntry {
  readonly n: number;
  /** As `bookRecord` made it. */
  readonly entry: JsonObject;
}

/** Part of a concern's books, by the time when its entries were recorded, ms since the epoch. */
export interface BooksRange {
  readonly concernId: string;
  /** From this time on, and before `to`. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface OrdersQuery extends BooksRange {
  readonly kind: 'orders' | 'fills';
  readonly strategyId?: string | undefined;
  readonly decisionId?: string | undefined;
  readonly order: 'newest' | 'oldest';
  /** Continue behind this entry. */
  readonly after?: number | undefined;
  readonly limit: number;
}

/** Reads books. Throws STORE_UNAVAILABLE. */
export interface BooksReader {
  /** Entries after number `n`, oldest first. */
  after(concernId: string, n: number, limit: number): StoredEntry[];
  orders(query: OrdersQuery): StoredEntry[];
  /** At most `count` entries of bars, evenly spaced, the last one included. */
  bars(range: BooksRange, count: number): StoredEntry[];
}
