import { FleetError } from '@hermes-fleet/protocol';
import type { Strategy } from '../terms/concern.ts';
import type { TradingStrategy } from '../terms/strategy.ts';
import { exposureProtector } from './exposure-protector.ts';
import { gridTrader } from './grid-trader.ts';
import type { StrategyKind } from './kind.ts';
import { trendFollower } from './trend-follower.ts';

export type { StrategyKind } from './kind.ts';

/** The strategy kinds by their names in trader.yaml (docs/trader.md#strategies). */
export const STRATEGY_KINDS: Readonly<Record<string, StrategyKind>> = {
  trend_follower: trendFollower,
  grid_trader: gridTrader,
  exposure_protector: exposureProtector,
};

/** Creates a strategy. Throws CONFIG_INVALID that names an unknown kind or every wrong parameter. */
export function createStrategy(
  { id, kind, params }: Pick<Strategy, 'id' | 'kind' | 'params'>,
  kinds: Readonly<Record<string, StrategyKind>> = STRATEGY_KINDS,
): TradingStrategy {
  const found = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (found === undefined) {
    const reason = `there is no kind ${kind}; use one of ${Object.keys(kinds).join(', ')}`;
    throw new FleetError('CONFIG_INVALID', `strategy ${id}: ${reason}`, {
      fields: [{ path: 'kind', reason }],
    });
  }
  try {
    return found.create(params);
  } catch (thrown) {
    if (!(thrown instanceof FleetError)) throw thrown;
    const { code, message, fields } = thrown;
    throw new FleetError(code, `strategy ${id} (${kind}): ${message}`, { fields, cause: thrown });
  }
}

/** Why a strategy cannot run, by its kind, its parameters, or the fault that `faultOf` knows; undefined if it can. */
export function cannotRun(
  strategy: Strategy,
  kinds: Readonly<Record<string, StrategyKind>>,
  faultOf: (strategyId: string) => string | undefined,
): string | undefined {
  try {
    createStrategy(strategy, kinds);
    const fault = faultOf(strategy.id);
    return fault === undefined ? undefined : `strategy ${strategy.id} is faulted: ${fault}`;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
