import { FleetError } from '@hermes-fleet/protocol';
import type { ControlStore } from '../../src/control/control-store.ts';

/** Faults of a store command: nothing is written, everything is written but reported as failed, or it throws. */
export type Fault = 'refuses' | 'lies' | 'breaks';

export interface FaultyStore extends ControlStore {
  /** Active faults by command. */
  readonly faults: Map<'decide' | 'refuse' | 'settle' | 'compensate' | 'hold' | 'refusals' | 'read', Fault>;
}

const full = (): FleetError =>
  new FleetError('STORE_UNAVAILABLE', 'the control store cannot write: database or disk is full', {
    retryAfterS: 5,
  });

/** A real store with faults that a test switches on. */
export function withFaults(store: ControlStore): FaultyStore {
  const faults: FaultyStore['faults'] = new Map();
  const faulty = async <T>(
    command: 'decide' | 'refuse' | 'settle' | 'compensate' | 'hold' | 'refusals',
    run: () => Promise<T>,
  ): Promise<T> => {
    const fault = faults.get(command);
    if (fault === 'refuses') throw full();
    if (fault === 'breaks') throw new TypeError('/secret/path: a bug');
    const value = await run();
    if (fault === 'lies') throw full();
    return value;
  };
  return {
    ...store,
    faults,
    decide: (...args) => faulty('decide', () => store.decide(...args)),
    refuse: (...args) => faulty('refuse', () => store.refuse(...args)),
    settle: (...args) => faulty('settle', () => store.settle(...args)),
    compensate: (...args) => faulty('compensate', () => store.compensate(...args)),
    holdConcern: (...args) => faulty('hold', () => store.holdConcern(...args)),
    refusals: (...args) => faulty('refusals', () => store.refusals(...args)),
    facts: (wanted) => {
      if (faults.has('read')) throw full();
      return store.facts(wanted);
    },
    concern: (id) => {
      if (faults.has('read')) throw full();
      return store.concern(id);
    },
    openApplies: () => {
      if (faults.has('read')) throw full();
      return store.openApplies();
    },
  };
}
