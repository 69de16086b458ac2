export { type EquityPoint, MAX_CURVE_POINTS } from './backtest/equity-curve.ts';
export {
  createSimulation,
  type SimulatedOrder,
  type Simulation,
  type SimulationOptions,
  type SimulationResult,
} from './backtest/simulation.ts';
export { readBars } from './feed/csv.ts';
export { createFeed, type FeedConfig, FeedSchema } from './feed/feed-config.ts';
export { createSyntheticFeed, syntheticBar } from './feed/synthetic.ts';
export { type DegradedConfig, DegradedSchema } from './follow/degraded.ts';
export type { AccountEntry, BarEntry, BookEntry, OrderEntry } from './market/books.ts';
export type { Concern, Strategy } from './market/concern.ts';
export { decimalText } from './market/decimal-text.ts';
export { type Market, MarketSchema, type MarketWire, readMarket } from './market/market.ts';
export { money } from './market/money.ts';
export type { OrderView } from './market/order-view.ts';
export { FREE, type Restriction, restrict } from './market/restriction.ts';
export type {
  EngineStore,
  EngineView,
  Hold,
  Reconciled,
  Runtime,
  RuntimeWatcher,
} from './market/runtime-port.ts';
export type { Bar, Feed } from './market/strategy.ts';
export { createNetProfit, type NetProfit } from './performance/net-profit.ts';
export {
  createPerformance,
  type Performance,
  type PerformanceBar,
  type PerformanceFigures,
  type PerformanceFill,
} from './performance/performance.ts';
export { writeFigures } from './performance/write-figures.ts';
export { createRuntime, type RuntimeConcern, type RuntimeOptions, type TraderRuntime } from './runtime.ts';
export { createStrategy, STRATEGY_KINDS } from './strategies/index.ts';
export { strategyKind } from './strategies/kind.ts';
