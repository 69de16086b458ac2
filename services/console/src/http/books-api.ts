import type { Answer, BooksFigures as Figures } from '@hermes-fleet/protocol/api';

export type BooksFigures = Answer<typeof Figures>;

/**
 * `GET /api/trader/books?concern_id=&since=&until=`, with the session's token: the books of the trader (docs/console.md#api).
 * The figures are of the whole time, `points`, `fills` and `marks` of the span.
 */
export interface BooksDocument {
  readonly concern_id: string;
  /** Since when the figures are measured; null before the first entry. */
  readonly measured_since: string | null;
  readonly total: BooksFigures;
  readonly strategies: readonly (BooksFigures & {
    /** Null: no strategy was active. */
    readonly strategy_id: string | null;
    readonly name: string | null;
  })[];
  /** The last 100 that took effect, the newest first. */
  readonly decisions: readonly (BooksFigures & {
    /** Null: before the first decision. */
    readonly decision_id: string | null;
    /** From the read model; null for what it does not know. */
    readonly at: string | null;
    readonly action: string | null;
    readonly caller: string | null;
    readonly strategy_id: string | null;
    readonly name: string | null;
  })[];
  /** The account at up to 300 bars, evenly spaced, the oldest first. `drawdown` is from the highest of these points so far. */
  readonly points: readonly {
    readonly recorded_at: string;
    readonly at: string;
    readonly close: string;
    readonly equity: string;
    readonly drawdown: number;
  }[];
  /** The newest first, at most 500. */
  readonly fills: readonly {
    readonly entry: number;
    readonly recorded_at: string;
    readonly at: string;
    readonly decision_id: string | null;
    readonly strategy_id: string;
    readonly name: string | null;
    readonly side: 'buy' | 'sell';
    readonly quantity: string;
    readonly price: string;
    readonly fee: string;
    /** The realized profit of a sale, without fees; null for a buy. */
    readonly realized_profit: string | null;
  }[];
  /** False when the span has older fills. */
  readonly has_all_fills: boolean;
  /** Applied decisions, the newest first, at most 500. */
  readonly marks: readonly {
    readonly at: string;
    readonly decision_id: string;
    readonly action: string;
    readonly caller: string;
  }[];
}
