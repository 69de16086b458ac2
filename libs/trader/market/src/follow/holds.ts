import type { Desired } from '../terms/engine-port.ts';
import { FREE, restrict } from '../terms/restriction.ts';
import type { Hold } from '../terms/runtime-port.ts';

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
  const left = () => [...holds.values()].reduce(restrict, FREE);
  return {
    set: (holder, hold) => {
      const before = left();
      if (hold === undefined) holds.delete(holder);
      else holds.set(holder, hold);
      const after = left();
      return before.runState !== after.runState || before.riskMode !== after.riskMode;
    },
    restrict: (desired) => [...holds.values()].reduce(restrict, desired),
    reasons: () => [...holds.values()].map(({ reason }) => reason),
  };
}
