import { RiskMode } from '@hermes-fleet/protocol';
import type { Desired } from '../market/engine-port.ts';
import type { Hold } from '../market/runtime-port.ts';

/** The holds of one concern, by who set them. */
export interface Holds {
  /** True if it changes what the holds leave. */
  set(holder: string, hold: Hold | undefined): boolean;
  /** The state that the holds leave of a desired one. */
  restrict(desired: Desired): Desired;
  reasons(): readonly string[];
}

export function createHolds(): Holds {
  const holds = new Map<string, Hold>();

  const restrict = (desired: Desired): Desired => {
    let { runState, riskMode } = desired;
    for (const hold of holds.values()) {
      runState = hold.runState ?? runState;
      riskMode = stricter(riskMode, hold.riskMode ?? 'normal');
    }
    return { ...desired, runState, riskMode };
  };

  return {
    set: (holder, hold) => {
      const before = restrict(FREE);
      if (hold === undefined) holds.delete(holder);
      else holds.set(holder, hold);
      const after = restrict(FREE);
      return before.runState !== after.runState || before.riskMode !== after.riskMode;
    },
    restrict,
    reasons: () => [...holds.values()].map(({ reason }) => reason),
  };
}

const FREE: Desired = { runState: 'running', riskMode: 'normal', strategy: undefined };

/** The one of two risk modes that allows less. */
export const stricter = (a: RiskMode, b: RiskMode): RiskMode =>
  RiskMode.options.indexOf(a) < RiskMode.options.indexOf(b) ? b : a;
