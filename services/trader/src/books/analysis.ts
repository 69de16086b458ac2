import {
  createNetProfit,
  createPerformance,
  type Feed,
  money,
  type Performance,
  type PerformanceFigures,
} from '@hermes-fleet/market';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { StoredEntry } from '../control/control-store.ts';

type Amount = ReturnType<typeof money>;

/** The performance while one strategy was active, or under one decision. */
export interface Part {
  /** Null: no strategy, or no decision yet. */
  readonly id: string | null;
  /** The strategy that was active at last. */
  readonly strategyId: string | null;
  readonly figures: PerformanceFigures;
}

/** A bar with its changes, as circuit breakers see it. */
export interface SeenBar {
  /** Ms since the epoch. */
  readonly at: number;
  /** When it was recorded, ms since the epoch. */
  readonly recordedAt: number;
  readonly decisionId: string | null;
  readonly strategyId: string | null;
  readonly equity: Amount;
  /** Change of the equity since the bar before. */
  readonly change: Amount;
  /** Orders placed since the bar before. */
  readonly placed: number;
  /** True for the first bar after the account was opened, carried over or reset. */
  readonly isFirst: boolean;
}

/** Decisions that are measured; older ones are forgotten. */
const MAX_DECISIONS = 100;

interface Measured {
  readonly performance: Performance;
  /** The equity before it, and its own changes since. */
  own: Amount;
  strategyId: string | null;
}

/** The time between the bars of a feed by which ratios are annualized, ms. */
export const spacingOf = ({ spacingMs, intervalMs }: Pick<Feed, 'spacingMs' | 'intervalMs'>): number =>
  spacingMs ?? intervalMs;

/** What a concern's books say, entry by entry (docs/trader.md#performance). */
export type Analysis = ReturnType<typeof createAnalysis>;

/** `intervalMs` is that of the bars of the feed: ratios are annualized with it. Throws INTERNAL for an entry without its fields. */
export function createAnalysis(intervalMs: number) {
  let last = 0;
  let since: number | undefined;
  let total = createPerformance({ intervalMs });
  let netProfit = createNetProfit();
  let position = money('0');
  let equity: Amount | undefined;
  let placed = 0;
  let isFirst = true;
  const strategies = new Map<string | null, Measured>();
  const decisions = new Map<string | null, Measured>();

  function opened({ at, event, cash, basis, position: held }: JsonObject): void {
    const opening = event === 'carried' ? undefined : amount(cash).plus(amount(basis));
    since = time(at);
    total = createPerformance({ intervalMs, opening });
    netProfit = createNetProfit();
    position = amount(held);
    equity = opening;
    isFirst = true;
    strategies.clear();
    decisions.clear();
  }

  const measured = (
    all: Map<string | null, Measured>,
    id: string | null,
    opening: Amount | undefined,
  ): Measured => {
    const known = all.get(id);
    if (known !== undefined) return known;
    const made = {
      performance: createPerformance({ intervalMs, opening }),
      own: opening ?? money('0'),
      strategyId: null,
    };
    all.set(id, made);
    const [oldest] = all.keys();
    if (all === decisions && all.size > MAX_DECISIONS && oldest !== undefined) all.delete(oldest);
    return made;
  };

  function ordered(entry: JsonObject): void {
    if (entry['event'] === 'placed') placed += 1;
    const { order } = entry;
    if (entry['event'] !== 'filled' || !isJsonObject(order)) return;
    const { side, quantity, fee } = order;
    const realized = amount(entry['realized_pnl'] ?? '0');
    const fill = { quantity: amount(quantity), fee: amount(fee), held: position, realized };
    const net = netProfit({ ...fill, side: side === 'buy' ? 'buy' : 'sell' });
    position = side === 'buy' ? position.plus(fill.quantity) : position.minus(fill.quantity);
    const counted = { fee: fill.fee, ...(net !== undefined && { sale: { realized, net } }) };
    total.fill(counted);
    measured(strategies, name(order['strategy_id']), equity).performance.fill(counted);
    measured(decisions, name(entry['decision_id']), equity).performance.fill(counted);
  }

  function ended(entry: JsonObject): SeenBar {
    const at = time(entry['at']);
    const now = amount(entry['equity']);
    const positionValue = amount(entry['position']).times(amount(entry['close']));
    const change = now.minus(equity ?? now);
    const [strategyId, decisionId] = [name(entry['strategy_id']), name(entry['decision_id'])];
    for (const [all, id] of [
      [strategies, strategyId],
      [decisions, decisionId],
    ] as const) {
      const part = measured(all, id, equity ?? now);
      part.own = part.own.plus(change);
      part.strategyId = strategyId;
      part.performance.bar({ at, equity: part.own, positionValue });
    }
    total.bar({ at, equity: now, positionValue });
    equity = now;
    const recordedAt = time(entry['recorded_at']);
    const bar = { at, recordedAt, decisionId, strategyId, equity: now, change, placed, isFirst };
    placed = 0;
    isFirst = false;
    return bar;
  }

  function takeEntry({ n, entry }: StoredEntry): SeenBar | undefined {
    switch (entry['kind']) {
      case 'account':
        opened(entry);
        return undefined;
      case 'order':
        ordered(entry);
        return undefined;
      case 'bar':
        return ended(entry);
      default:
        throw new FleetError('INTERNAL', `entry ${n} of the books has an unknown kind`);
    }
  }

  const partsOf = (all: Map<string | null, Measured>): Part[] =>
    [...all].map(([id, { strategyId, performance }]) => ({ id, strategyId, figures: performance.figures() }));

  return {
    /** Adds the next entry. Returns a bar when the entry ends one. */
    add: (stored: StoredEntry): SeenBar | undefined => {
      const bar = takeEntry(stored);
      // After it was taken: one that cannot be read is not passed over.
      last = stored.n;
      return bar;
    },
    /** Number of the newest entry that was added. */
    last: (): number => last,
    /** Time of the balances that everything is measured from, ms since the epoch. */
    since: (): number | undefined => since,
    total: (): PerformanceFigures => total.figures(),
    strategies: (): Part[] => partsOf(strategies),
    /** Of the last decisions, newest first. */
    decisions: (): Part[] => partsOf(decisions).reverse(),
  };
}

function amount(value: unknown): Amount {
  if (typeof value === 'string') return money(value);
  throw new FleetError('INTERNAL', 'an entry of the books lacks an amount');
}

function time(value: unknown): number {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw new FleetError('INTERNAL', 'an entry of the books lacks its time');
  return at;
}

const name = (value: unknown): string | null => (typeof value === 'string' ? value : null);
