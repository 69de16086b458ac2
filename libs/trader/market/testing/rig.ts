import type { JsonObject } from '@hermes-fleet/protocol';
import type { Ids } from '@hermes-fleet/protocol/ports';
import { createEngine, type Engine } from '../src/broker/engine.ts';
import type { Desired } from '../src/broker/reconcile-orders.ts';
import type { OrderView } from '../src/terms/books.ts';
import { type Market, MarketSchema, readMarket } from '../src/terms/market.ts';
import { money, ZERO } from '../src/terms/money.ts';
import type { Bar, Intent, StrategyView, TradingStrategy } from '../src/terms/strategy.ts';

/** A fee of 1 %, slippage of 1 %, prices in cents and quantities in tenths, for easy mental arithmetic. */
export const market = (o: Record<string, unknown> = {}): Market =>
  readMarket(
    MarketSchema.parse({
      balances: { quote: '1000', base: '0' },
      fees_bps: '100',
      slippage_bps: '100',
      limits: { max_order: '5', max_position: '8', max_open_orders: 3, min_order: '0.5' },
      steps: { price: '0.01', quantity: '0.1' },
      ...o,
    }),
  );

/** A bar that closes at minute `minute`. */
export function bar(minute: number, open: string, high = open, low = open, close = open): Bar {
  return {
    at: minute * 60_000,
    open: money(open),
    high: money(high),
    low: money(low),
    close: money(close),
    volume: ZERO,
  };
}

type Wants = Omit<Extract<Intent, { type: 'order' }>, 'type'>;
const order = (wants: Wants): Intent => ({ type: 'order', ...wants });

export const buy = (quantity: string): Intent =>
  order({ side: 'buy', kind: 'market', purpose: 'entry', quantity: money(quantity) });
export const sell = (quantity: string): Intent =>
  order({ side: 'sell', kind: 'market', purpose: 'exit', quantity: money(quantity) });
export const buyAt = (limit: string, quantity: string): Intent =>
  order({
    side: 'buy',
    kind: 'limit',
    purpose: 'entry',
    quantity: money(quantity),
    limitPrice: money(limit),
  });
export const sellAt = (limit: string, quantity: string): Intent =>
  order({
    side: 'sell',
    kind: 'limit',
    purpose: 'exit',
    quantity: money(quantity),
    limitPrice: money(limit),
  });

export type Script = (view: StrategyView) => readonly Intent[];

/** A strategy from a function. */
export const scripted = (onBar: Script, warmupBars = 1): TradingStrategy => ({ warmupBars, onBar });

/** A strategy that returns the next intents after each bar, and none after the last. */
export function turns(...wanted: readonly (readonly Intent[])[]): TradingStrategy {
  const left = [...wanted];
  return scripted(() => left.shift() ?? []);
}

/** Sequential ids from `next`. */
export function counting(next = 1): Ids & { next(): number } {
  let n = next;
  return { uuid: () => `order-${n++}`, next: () => n };
}

export interface Rig {
  readonly engine: Engine;
  /** Calls of the watcher. */
  readonly reported: string[];
  run(...bars: readonly Bar[]): void;
  /** Configures the engine; risk mode `normal` and run state `running` by default. */
  as(o?: Partial<Desired> & { trading?: TradingStrategy; id?: string }): ReturnType<Engine['configure']>;
  /** Open orders as `side quantity@limit`. */
  open(): string[];
  position(): string;
  recent(): readonly OrderView[];
}

export function rig(o: { market?: Market; snapshot?: JsonObject; lastEntry?: number; ids?: Ids } = {}): Rig {
  const reported: string[] = [];
  const engine = createEngine({
    concernId: 'acc:xrpusd',
    market: o.market ?? market(),
    snapshot: o.snapshot,
    ...(o.lastEntry !== undefined && { lastEntry: o.lastEntry }),
    ids: o.ids ?? counting(),
    watcher: { order: (concern, strategy, what) => reported.push(`${concern} ${strategy} ${what}`) },
  });
  let strategy: Desired['strategy'];
  return {
    engine,
    reported,
    run: (...bars) => {
      for (const each of bars) {
        const { error } = engine.onBar(each);
        if (error !== undefined) throw error;
      }
    },
    as: ({ trading, id = 'a', ...desired } = {}) => {
      if (trading !== undefined) strategy = { id, trading };
      if ('strategy' in desired) strategy = desired.strategy;
      return engine.configure({ runState: 'running', riskMode: 'normal', ...desired, strategy });
    },
    open: () =>
      engine.view().openOrders.map((each) => {
        const limit = each.limitPrice === undefined ? '' : `@${each.limitPrice}`;
        return `${each.side} ${each.quantity}${limit}`;
      }),
    position: () => engine.view().position.quantity,
    recent: () => engine.view().recentOrders,
  };
}

const RICH = {
  balances: { quote: '10000', base: '4' },
  limits: { max_order: '10', max_position: '20', max_open_orders: 5, min_order: '0.5' },
};
/** A market with ample balances and limits, and a position of 4. */
export const rich = market(RICH);
/** The same market, which keeps open exits while `halted`. */
export const protective = market({ ...RICH, risk: { halted: 'keep_protective' } });

/** An engine with a position of 4 and, after its first bar, an open buy of 2 at 80 and an open sale of 3 at 120. */
export function resting(of = rich): Rig {
  const r = rig({ market: of });
  r.as({ trading: turns([buyAt('80', '2'), sellAt('120', '3')]) });
  r.run(bar(1, '100'));
  return r;
}
