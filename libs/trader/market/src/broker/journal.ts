import type { AccountEntry, BookEntry, OrderEntry } from '../terms/books.ts';
import { text } from '../terms/money.ts';
import { type Order, viewOf } from './order.ts';
import type { EngineState, PendingEntry } from './state.ts';

/** While nothing can be saved, the account of at most this many bars waits. Orders and balances are always kept. */
const MAX_PENDING_BARS = 1_000;

/** Adds an entry to the books. */
function record(
  state: EngineState,
  kind: PendingEntry['kind'],
  write: (n: number) => BookEntry,
): EngineState {
  const { last, pending } = state.journal;
  const n = last + 1;
  const entry: PendingEntry = { n, kind, write: () => write(n) };
  return { ...state, journal: { last: n, pending: bounded([...pending, entry]) } };
}

/** Without the oldest bar if there are too many. */
function bounded(pending: readonly PendingEntry[]): readonly PendingEntry[] {
  if (pending.length <= MAX_PENDING_BARS) return pending;
  const bars = pending.filter(({ kind }) => kind === 'bar');
  return bars.length <= MAX_PENDING_BARS ? pending : pending.filter((entry) => entry !== bars[0]);
}

const causedBy = (rev: number | undefined): { rev?: number } => (rev === undefined ? {} : { rev });

/** Records the account of a state. */
export function recordAccount(state: EngineState, event: AccountEntry['event'], at: number): EngineState {
  const { account, configured } = state;
  return record(state, 'account', (n) => ({
    kind: 'account',
    n,
    event,
    at,
    ...causedBy(configured.rev),
    cash: text(account.cash),
    position: text(account.position),
    basis: text(account.basis),
    realizedPnl: text(account.realized),
    feesPaid: text(account.fees),
  }));
}

export function recordOrder(state: EngineState, order: Order, event: OrderEntry['event']): EngineState {
  const at = order.endedAt ?? state.bars.at(-1)?.at ?? order.placedAt;
  const { realized } = order;
  const { rev } = state.configured;
  return record(state, 'order', (n) => ({
    kind: 'order',
    n,
    event,
    at,
    ...causedBy(event === 'filled' ? order.rev : rev),
    order: viewOf(order),
    ...(realized === undefined ? {} : { realizedPnl: text(realized) }),
  }));
}

/** Records the account at the end of the latest bar. */
export function recordBar(state: EngineState): EngineState {
  const bar = state.bars.at(-1);
  if (bar === undefined) return state;
  const { account, configured } = state;
  return record(state, 'bar', (n) => ({
    kind: 'bar',
    n,
    at: bar.at,
    ...causedBy(configured.rev),
    strategyId: configured.strategyId,
    close: text(bar.close),
    cash: text(account.cash),
    position: text(account.position),
    realizedPnl: text(account.realized),
    feesPaid: text(account.fees),
    equity: text(account.cash.plus(account.position.times(bar.close))),
  }));
}

/**
 * Continues books that end with entry `n`. An engine that is older than its books, or begins anew because it was lost, would
 * use their numbers twice, and its entries would pass for stored ones.
 */
export function continueBooks(state: EngineState, n: number): EngineState {
  const { last, pending } = state.journal;
  if (last - pending.length >= n) return state;
  const continued = { ...state, journal: { last: n, pending: [] } };
  const bar = state.bars.at(-1);
  return bar === undefined ? continued : recordAccount(continued, 'carried', bar.at);
}

/** Forgets the entries up to number `n`, which are saved. */
export const booked = (state: EngineState, n: number): EngineState => ({
  ...state,
  journal: { ...state.journal, pending: state.journal.pending.filter((entry) => entry.n > n) },
});
