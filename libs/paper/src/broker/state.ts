import type { Decimal } from 'decimal.js';
import type { Concern } from '../market/concern.ts';
import type { Market } from '../market/market.ts';
import { sum, ZERO } from '../market/money.ts';
import type { Bar } from '../market/strategy.ts';
import { type Account, openAccount } from './account.ts';
import type { Order } from './order.ts';

/** Bars that a strategy can see. */
export const HISTORY_BARS = 500;
/** Orders that have ended and can still be seen. */
export const RECENT_ORDERS = 20;
/** Bars that `recentRejects` looks back. */
export const TROUBLE_BARS = 20;

/** All that an engine is, between two bars: a value, replaced whole. */
export interface EngineState {
  readonly account: Account;
  /** The newest last. */
  readonly bars: readonly Bar[];
  /** In the order in which they were placed. */
  readonly open: readonly Order[];
  /** The newest first. */
  readonly recent: readonly Order[];
  readonly counts: {
    readonly bars: number;
    readonly fills: number;
    readonly rejects: number;
    /** What fills at an open were worth there, and what slippage cost, in quote. */
    readonly slipped: Decimal;
    readonly slippage: Decimal;
  };
  /** Orders rejected in each of the last bars, the newest last; those that were refused as commanded are not trouble. */
  readonly rejectsOfBars: readonly number[];
  readonly consecutiveErrors: number;
  /** What it was configured to, last. */
  readonly configured: Pick<Concern, 'runState' | 'riskMode'> & { readonly strategyId: string | null };
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
});

/** Quote that open orders have reserved. */
export const reservedCash = ({ open }: EngineState): Decimal =>
  sum(open.filter(({ side }) => side === 'buy').map(({ reserved }) => reserved));

export const freeCash = (state: EngineState): Decimal => state.account.cash.minus(reservedCash(state));

/** Told of every order that is placed, and of every one that ends. */
export type Tell = (order: Order, what: 'placed' | 'filled' | 'canceled' | 'rejected') => void;

/** How an order ends: its state, and what there is to say about it. */
export type Ending = Pick<Order, 'fillPrice' | 'fee' | 'reason'> & {
  readonly state: 'filled' | 'canceled' | 'rejected';
  readonly endedAt: number;
};

/** Takes an order out of the open ones, if it is there, and keeps it among the recent. */
export function ended(state: EngineState, order: Order, ending: Ending, tell: Tell): EngineState {
  const after: Order = { ...order, ...ending };
  tell(after, ending.state);
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

/** Counts a reject of the present bar as trouble. */
export const troubled = (state: EngineState): EngineState => ({
  ...state,
  rejectsOfBars: state.rejectsOfBars.with(-1, (state.rejectsOfBars.at(-1) ?? 0) + 1),
});

export const orderOf = (state: EngineState, id: string): Order | undefined =>
  state.open.find((order) => order.id === id);
