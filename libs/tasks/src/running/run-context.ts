import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError, type RunContext, type RunEvent } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { type AskOptions, askCaller } from './ask-caller.ts';

/** A run's slot among those that run at a time. */
export interface Slot {
  /** Gives it to others. */
  release(): void;
  /** Resolves when the run has one again, or when `signal` aborts. */
  reacquire(signal: AbortSignal): Promise<void>;
}

export interface RunContextOptions extends AskOptions, Pick<RunContext, 'budget'> {
  readonly ledger: AskOptions['ledger'] & Pick<Ledger, 'append' | 'loadCheckpoint' | 'saveCheckpoint'>;
  readonly slot: Slot;
  readonly metrics: Pick<FleetMetrics, 'toolCall'>;
}

/** What an executor gets to work with: everything that it reports or saves goes to the ledger. */
export function createRunContext(options: RunContextOptions): RunContext {
  const { task, ledger, slot, metrics, signal, stopping, budget, persist } = options;
  let parked = false;
  let queued = false;

  async function park<T>(wait: () => Promise<T>): Promise<T> {
    if (parked) throw new FleetError('INTERNAL', `task ${task.id} is parked already`);
    parked = true;
    slot.release();
    try {
      const value = await wait();
      await slot.reacquire(AbortSignal.any([signal, stopping]));
      return value;
    } finally {
      parked = false;
    }
  }

  return {
    signal,
    stopping,
    budget,
    async report(event: RunEvent) {
      const data = event.type === 'text' ? { text: event.text } : event.data;
      const goesOn = queued && (event.type === 'progress' || event.type === 'delegated');
      if (goesOn) queued = false;
      if (event.type === 'queued') queued = true;
      const change = goesOn ? ({ state: 'working' } as const) : undefined;
      await persist(() => ledger.append(task.id, { type: event.type, data }, change));
      if (event.type === 'progress' && event.data.phase === 'ended' && typeof event.data.tool === 'string')
        metrics.toolCall(event.data.tool, event.data.ok === true);
    },
    park,
    async ask(question, { key, signal: withdrawal }) {
      if (parked) throw new FleetError('INTERNAL', `task ${task.id} is parked: it cannot ask meanwhile`);
      try {
        return await askCaller({ ...options, park }, { key, text: question }, withdrawal);
      } finally {
        // It stood in line: the next step says that it goes on.
        queued = true;
      }
    },
    checkpoint: {
      load: () => ledger.loadCheckpoint(task.id),
      save: (...args) => persist(() => ledger.saveCheckpoint(task.id, ...args)),
    },
  };
}
