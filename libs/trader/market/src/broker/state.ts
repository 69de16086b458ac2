import type { Decimal } from 'decimal.js';
import type { BookEntry, OrderEntry } from '../terms/books.ts';
import type { Concern } from '../terms/concern.ts';
import type { Market } from '../terms/market.ts';
import { sum, ZERO } from '../terms/money.ts';
import type { Bar } from '../terms/strategy.ts';
import { type Account, openAccount } from './account.ts';
import type { Order } from './order.ts';

/** Bars of history that a strategy sees. */
export const HISTORY_BARS = 500;
/** Ended orders that views still show. */
const RECENT_ORDERS = 20;
/** Bars over which `recentRejects` counts. */
export const REJECT_WINDOW_BARS = 20;

/** An entry is written out when it is saved, since a simulation saves none. */
export interface PendingEntry {
  readonly n: number;
  readonly kind: BookEntry['kind'];
  readonly write: () => BookEntry;
}

/** The immutable state of an engine between two bars. */
export interface EngineState {
  readonly account: Account;
  /** Oldest first. */
  readonly bars: readonly Bar[];
  /** Oldest first. */
  readonly open: readonly Order[];
  /** Newest first. */
  readonly recent: readonly Order[];
  readonly counts: {
    readonly bars: number;
    readonly fills: number;
    readonly rejects: number;
    /** Value of the fills at an open before slippage, and cost of their slippage, in quote. */
    readonly slipped: Decimal;
    readonly slippage: Decimal;
  };
  /** Rejected orders of each of the last bars, oldest first, without those refused by policy. */
  readonly rejectsOfBars: readonly number[];
  readonly consecutiveErrors: number;
  /** The feed that the bars are from; undefined if it is not known. */
  readonly feed?: string | undefined;
  /** The latest configuration; `rev` is absent before the first one. */
  readonly configured: Pick<Concern, 'runState' | 'riskMode'> & {
    readonly strategyId: string | null;
    readonly rev?: number | undefined;
  };
  /** The balances that the account was opened with. */
  readonly opening: Market['balances'];
  /** The entries that the engine has made: the number of the newest, and those that are not saved yet, oldest first. */
  readonly journal: { readonly last: number; readonly pending: readonly PendingEntry[] };
}

export const firstState = ({ balances }: Market): EngineState => ({
  account: openAccount(balances.quote, balances.base, ZERO),
  bars: [],
  open: [],
  recent: [],
  counts: { bars: 0, fills: 0, rejects: 0, slipped: ZERO, slippage: ZERO },
  rejectsOfBars: [],
  consecutiveErrors: 0,
  configured: { runState: 'paused', riskMode: 'halted', strategyId: null },
  opening: balances,
  journal: { last: 0, pending: [] },
});

/** Quote reserved by open orders. */
export const reservedCash = ({ open }: EngineState): Decimal =>
  sum(open.filter(({ side }) => side === 'buy').map(({ reserved }) => reserved));

export const freeCash = (state: EngineState): Decimal => state.account.cash.minus(reservedCash(state));

/** Called for each order that is placed or reduced, and for each that ends. */
export type OrderListener = (order: Order, what: OrderEntry['event']) => void;

type Ending = Pick<Order, 'fillPrice' | 'fee' | 'realized' | 'reason'> & {
  readonly state: 'filled' | 'canceled' | 'rejected';
  readonly endedAt: number;
};

/** Moves an order from the open to the recent orders. */
export function endOrder(
  state: EngineState,
  order: Order,
  ending: Ending,
  onOrder: OrderListener,
): EngineState {
  const after: Order = { ...order, ...ending };
  onOrder(after, ending.state);
  const { counts } = state;
  return {
    ...state,
    open: state.open.filter(({ id }) => id !== order.id),
    recent: [after, ...state.recent].slice(0, RECENT_ORDERS),
    counts: {
      ...counts,
      fills: counts.fills + (ending.state === 'filled' ? 1 : 0),
      rejects: counts.rejects + (ending.state === 'rejected' ? 1 : 0),
    },
  };
}

/** Cancels, as of the latest bar, the open orders that have a reason to end. */
export const cancelOrders = (
  before: EngineState,
  reasonOf: (order: Order) => string | undefined,
  onOrder: OrderListener,
): EngineState =>
  before.open.reduce((state, order) => {
    const reason = reasonOf(order);
    if (reason === undefined) return state;
    const endedAt = before.bars.at(-1)?.at ?? order.placedAt;
    return endOrder(state, order, { state: 'canceled', endedAt, reason }, onOrder);
  }, before);

/** Counts a reject of the current bar. */
export const countReject = (state: EngineState): EngineState => ({
  ...state,
  rejectsOfBars: state.rejectsOfBars.with(-1, (state.rejectsOfBars.at(-1) ?? 0) + 1),
});
