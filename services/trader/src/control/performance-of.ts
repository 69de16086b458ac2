import type { StrategyDetail } from '@hermes-fleet/protocol/control';

/** What the books say of a strategy and its account; undefined until they are read. Never throws. */
export type PerformanceOf = (
  concernId: string,
  strategyId: string,
) => NonNullable<StrategyDetail['performance']> | undefined;
