export {
  createSimulation,
  type SimulatedOrder,
  type Simulation,
  type SimulationResult,
} from './backtest/simulation.ts';
export { readBars, readTextFile } from './feed/csv.ts';
export { listedProblems } from './feed/csv-rows.ts';
export { createFeed, type FeedConfig, FeedSchema } from './feed/feed-config.ts';
export { createSyntheticFeed, syntheticBar } from './feed/synthetic.ts';
export { type DegradedConfig, DegradedSchema } from './follow/degraded.ts';
export { createNetProfit } from './performance/net-profit.ts';
export { createPerformance, type Performance, type PerformanceFigures } from './performance/performance.ts';
export { writeFigures } from './performance/write-figures.ts';
export { createRuntime, type RuntimeConcern, type RuntimeOptions, type TraderRuntime } from './runtime.ts';
export { createStrategy, STRATEGY_KINDS } from './strategies/index.ts';
export { strategyKind, wrongFields } from './strategies/kind.ts';
export type { BookEntry, OrderEntry, OrderView } from './terms/books.ts';
export { type Concern, FREE, type Restriction, restrict, type Strategy } from './terms/concern.ts';
export { decimalText } from './terms/decimal-text.ts';
export { type Market, MarketSchema, type MarketWire, readMarket } from './terms/market.ts';
export { money } from './terms/money.ts';
export type {
  EngineStore,
  EngineView,
  Hold,
  Reconciled,
  Runtime,
  RuntimeWatcher,
} from './terms/runtime-port.ts';
export type { Bar, Feed } from './terms/strategy.ts';
