import type { Ids, JsonObject } from '@hermes-fleet/protocol';
import { createEngine } from '../engine.ts';
import type { Desired, Engine } from '../market/engine-port.ts';
import { type Market, MarketSchema, readMarket } from '../market/market.ts';
import { money, ZERO } from '../market/money.ts';
import type { OrderView } from '../market/runtime-port.ts';
import type { Bar, Intent, StrategyView, TradingStrategy } from '../market/strategy.ts';

/** A fee of 1 %, slippage of 1 %, prices in cents, quantities in tenths: to be computed in the head. */
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

/** A bar of minute `minute`. */
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

/** Intents by their usual names; quantities and prices as text. */
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

/** A strategy that does what it is told. */
export const scripted = (onBar: Script, warmupBars = 1): TradingStrategy => ({ warmupBars, onBar });

/** Wants the next of `turns` after each bar, then nothing. */
export function turns(...wanted: readonly (readonly Intent[])[]): TradingStrategy {
  const left = [...wanted];
  return scripted(() => left.shift() ?? []);
}

/** Ids that count, from `next`. */
export function counting(next = 1): Ids & { next(): number } {
  let n = next;
  return { uuid: () => `order-${n++}`, next: () => n };
}

export interface Rig {
  readonly engine: Engine;
  /** What the watcher was told. */
  readonly told: string[];
  run(...bars: readonly Bar[]): void;
  /** Configures, with `normal` and `running` where nothing else is said. */
  as(o?: Partial<Desired> & { trading?: TradingStrategy; id?: string }): ReturnType<Engine['configure']>;
  /** Open orders as `side quantity@limit`. */
  open(): string[];
  position(): string;
  recent(): readonly OrderView[];
}

export function rig(o: { market?: Market; snapshot?: JsonObject; ids?: Ids } = {}): Rig {
  const told: string[] = [];
  const engine = createEngine({
    concernId: 'acc:xrpusd',
    market: o.market ?? market(),
    snapshot: o.snapshot,
    ids: o.ids ?? counting(),
    watcher: { order: (concern, strategy, what) => told.push(`${concern} ${strategy} ${what}`) },
  });
  let strategy: Desired['strategy'];
  return {
    engine,
    told,
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

/** Enough of everything, and 4 held. */
export const rich = market({
  balances: { quote: '10000', base: '4' },
  limits: { max_order: '10', max_position: '20', max_open_orders: 5, min_order: '0.5' },
});

/** An engine that holds 4, with a buy of 2 at 80 and a sale of 3 at 120 open after its first bar. */
export function resting(): Rig {
  const r = rig({ market: rich });
  r.as({ trading: turns([buyAt('80', '2'), sellAt('120', '3')]) });
  r.run(bar(1, '100'));
  return r;
}
