import type { RiskMode } from '@hermes-fleet/protocol/control';
import { createEngine, type Engine } from '../src/broker/engine.ts';
import { syntheticBar } from '../src/feed/synthetic.ts';
import { type Market, MarketSchema, readMarket } from '../src/terms/market.ts';
import { money } from '../src/terms/money.ts';
import type { Bar, TradingStrategy } from '../src/terms/strategy.ts';

/** An account of 10,000 quote with generous limits. */
export const market = (changes: object = {}): Market =>
  readMarket(
    MarketSchema.parse({
      balances: { quote: '10000', base: '0' },
      limits: { max_position: '1000000', max_order: '1000000', max_open_orders: 50, min_order: '0.001' },
      ...changes,
    }),
  );

/** Sequential ids, which make two runs comparable. */
export function countingIds(): { uuid(): string } {
  let count = 0;
  return {
    uuid: () => {
      count += 1;
      return `order-${count}`;
    },
  };
}

export const silentWatcher = { order: () => undefined, changed: () => undefined };

/** A seeded random walk from 0.5, with a standard deviation of 0.6 % per bar. */
export function syntheticBars(seed: number, count: number): Bar[] {
  const o = { seed, startPrice: money('0.5'), volatilityBps: money('60'), intervalMs: 1_000 };
  const bars: Bar[] = [];
  for (let i = 1; i <= count; i += 1)
    bars.push(syntheticBar(o, i * 1_000, bars.at(-1)?.close ?? o.startPrice));
  return bars;
}

/** Runs a strategy in a real engine; `look` is called after every bar. */
export function play(o: {
  readonly trading: TradingStrategy;
  readonly bars: Iterable<Bar>;
  readonly market?: Market;
  readonly riskMode?: RiskMode;
  readonly look?: (engine: Engine) => void;
}): Engine {
  const engine = createEngine({
    concernId: 'a:xrpusd',
    market: o.market ?? market(),
    ids: countingIds(),
    watcher: silentWatcher,
  });
  const strategy = { id: 's1', trading: o.trading };
  engine.configure({ runState: 'running', riskMode: o.riskMode ?? 'normal', strategy });
  for (const bar of o.bars) {
    const { error } = engine.onBar(bar);
    if (error !== undefined) throw error;
    o.look?.(engine);
  }
  return engine;
}
