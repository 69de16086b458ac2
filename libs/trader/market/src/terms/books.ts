/** An order of the paper market, as people see it. Amounts are decimal strings. */
export interface OrderView {
  readonly id: string;
  readonly strategyId: string;
  readonly side: 'buy' | 'sell';
  readonly kind: 'market' | 'limit';
  /** `entry` opens or adds, `exit` protects or reduces. */
  readonly purpose: 'entry' | 'exit';
  readonly quantity: string;
  readonly limitPrice?: string;
  readonly state: 'open' | 'filled' | 'canceled' | 'rejected';
  readonly fillPrice?: string;
  readonly fee?: string;
  /** Why the order was rejected, canceled or reduced. */
  readonly reason?: string;
  /** RFC 3339 times of the bar in which the order was placed and the bar that ended it. */
  readonly placedAt: string;
  readonly endedAt?: string;
}

interface Entry {
  /** Increasing within a concern. Bars that could not be saved for long leave gaps. */
  readonly n: number;
  /** Time of the bar, ms since the epoch. */
  readonly at: number;
  /** The revision of the concern that caused the entry: it leads to the decision. Absent before any decision. */
  readonly rev?: number;
}

/** The account that the entries after this one continue. */
export interface AccountEntry extends Entry {
  readonly kind: 'account';
  /** `carried`: the stored engine was older than its books, and goes on above their last entry. */
  readonly event: 'opened' | 'carried' | 'reset';
  readonly cash: string;
  readonly position: string;
  /** Cost of the position, without fees. */
  readonly basis: string;
  readonly realizedPnl: string;
  readonly feesPaid: string;
}

/** Something happened to an order. `rev` is of the placement for fills, and of the cause for all others. */
export interface OrderEntry extends Entry {
  readonly kind: 'order';
  readonly event: 'placed' | 'reduced' | 'filled' | 'canceled' | 'rejected';
  readonly order: OrderView;
  /** Profit or loss of a filled sale against the average cost, without fees. */
  readonly realizedPnl?: string;
}

/** The account at the end of a bar. */
interface BarEntry extends Entry {
  readonly kind: 'bar';
  /** The active strategy. */
  readonly strategyId: string | null;
  readonly close: string;
  /** Including reserved cash. */
  readonly cash: string;
  readonly position: string;
  /** Since the account was opened or reset, without fees. */
  readonly realizedPnl: string;
  readonly feesPaid: string;
  readonly equity: string;
}

/** An entry of a concern's books (docs/trader.md#books). Amounts are decimal strings. */
export type BookEntry = AccountEntry | OrderEntry | BarEntry;
