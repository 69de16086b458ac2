import { RiskMode } from '@hermes-fleet/protocol/control';
import type { Concern } from './concern.ts';

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
