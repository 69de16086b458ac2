import type { Ledger } from '@hermes-fleet/ledger';
import { type AdmittedTask, FleetError, type RunContext, type RunEvent } from '@hermes-fleet/protocol';

/** A run's slot among those that run at a time. */
export interface Slot {
  /** Gives it to others. */
  leave(): void;
  /** Resolves when the run has one again, or when `signal` aborts. */
  retake(signal: AbortSignal): Promise<void>;
}

export interface RunContextParts extends Pick<RunContext, 'signal' | 'stopping' | 'budget'> {
  readonly task: AdmittedTask;
  readonly ledger: Pick<Ledger, 'append' | 'loadCheckpoint' | 'saveCheckpoint'>;
  readonly slot: Slot;
  /** Tries a write again while the store is away, until the run is told to end: what it paid for must not get lost. */
  readonly keep: <T>(write: () => Promise<T>) => Promise<T>;
}

/** What an executor gets to work with: everything that it reports or saves goes to the ledger. */
export function createRunContext(o: RunContextParts): RunContext {
  const { task, ledger, slot, signal, stopping, budget, keep } = o;
  let parked = false;
  let queued = false;
  return {
    ...{ signal, stopping, budget },
    async report(event: RunEvent) {
      const data = event.type === 'text' ? { text: event.text } : event.data;
      const goesOn = queued && (event.type === 'progress' || event.type === 'delegated');
      if (goesOn) queued = false;
      if (event.type === 'queued') queued = true;
      const change = goesOn ? ({ state: 'working' } as const) : undefined;
      await keep(() => ledger.append(task.id, { type: event.type, data }, change));
    },
    async park<T>(wait: () => Promise<T>): Promise<T> {
      if (parked) throw new FleetError('INTERNAL', `task ${task.id} is parked already`);
      parked = true;
      slot.leave();
      try {
        const value = await wait();
        await slot.retake(AbortSignal.any([signal, stopping]));
        return value;
      } finally {
        parked = false;
      }
    },
    async ask() {
      throw new FleetError('UNSUPPORTED_OPERATION', 'nobody can be asked yet');
    },
    checkpoint: {
      load: () => ledger.loadCheckpoint(task.id),
      save: (state) => keep(() => ledger.saveCheckpoint(task.id, state)),
    },
  };
}
