import type { JsonObject } from '@hermes-fleet/protocol';
import { RiskMode } from '@hermes-fleet/protocol/control';

/** The control state of one account in one market (docs/trader.md#state). The audit records its changes. */
export interface Concern {
  /** `<account>:<market>` */
  readonly id: string;
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly activeStrategyId: string | null;
  readonly runState: 'running' | 'paused';
  readonly riskMode: RiskMode;
  /** Incremented by each change. */
  readonly rev: number;
}

export interface Strategy {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly accountId: string;
  readonly marketSymbol: string;
  readonly params: JsonObject;
  /** Says if the strategy may run. The concern says which strategy is active. */
  readonly status: 'enabled' | 'disabled' | 'faulted';
}

type State = Pick<Concern, 'runState' | 'riskMode'>;

/** Limits what a concern may do, whatever its state allows. */
export interface Restriction {
  /** `paused`: it enters no position. */
  readonly runState?: 'paused';
  /** The most that it may risk. */
  readonly riskMode?: RiskMode;
}

/** The state of a concern that may do everything. */
export const FREE: State = { runState: 'running', riskMode: 'normal' };

/** The part of a state that a restriction leaves. */
export function restrict<S extends State>(state: S, { runState, riskMode = 'normal' }: Restriction): S {
  const isStricter = RiskMode.options.indexOf(riskMode) > RiskMode.options.indexOf(state.riskMode);
  return {
    ...state,
    runState: runState ?? state.runState,
    riskMode: isStricter ? riskMode : state.riskMode,
  };
}
