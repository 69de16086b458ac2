import type { ArtifactLimits, Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Budget, RunContext, RunEvent } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';
import type { Abort } from './abort.ts';
import { type AskOptions, askCaller } from './ask-caller.ts';

/** A slot of the task queue, held by a run. */
export interface Slot {
  release(): void;
  /** Resolves when the run has a slot again, or when `signal` aborts. */
  reacquire(signal: AbortSignal): Promise<void>;
}

export interface RunContextOptions extends Omit<AskOptions, 'signal' | 'stopping' | 'abortRun'> {
  /** Makes the budget when it is first asked for: not every executor needs it. */
  readonly budget: () => Budget;
  readonly aborting: Pick<Abort, 'signal' | 'abort'>;
  readonly stopping: Pick<Abort, 'signal'>;
  readonly ledger: AskOptions['ledger'] &
    Pick<
      Ledger,
      'addArtifact' | 'append' | 'earlierConversation' | 'loadCheckpoint' | 'saveCheckpoint' | 'wholeArtifact'
    >;
  readonly artifactLimits: ArtifactLimits;
  readonly slot: Slot;
  readonly metrics: Pick<FleetMetrics, 'add'>;
  /** Aborts when the end of the task is not tried any more. */
  readonly closing: AbortSignal;
}

/** Creates the context of an executor. Its reports and checkpoints are written to the ledger. */
export function createRunContext(options: RunContextOptions): RunContext {
  const { task, ledger, slot, metrics, persist, aborting, stopping } = options;
  let parked = false;
  /** The task's state in the ledger is `queued`; the next step sets it to `working`. */
  let queued = false;

  async function park<T>(wait: () => Promise<T>): Promise<T> {
    if (parked) throw new FleetError('INTERNAL', `task ${task.id} is parked already`);
    parked = true;
    slot.release();
    try {
      const value = await wait();
      await slot.reacquire(AbortSignal.any([aborting.signal, stopping.signal]));
      return value;
    } finally {
      parked = false;
    }
  }

  return {
    // The signals and the budget are created for the executors that use them.
    get signal() {
      return aborting.signal;
    },
    get stopping() {
      return stopping.signal;
    },
    get budget() {
      return options.budget();
    },
    async reportEvent(event: RunEvent) {
      const data = event.type === 'text' ? { text: event.text } : event.data;
      const continues = queued && (event.type === 'progress' || event.type === 'delegated');
      if (continues) queued = false;
      if (event.type === 'queued') queued = true;
      const change = continues ? ({ state: 'working' } as const) : undefined;
      // An alert about the end of a run is tried as long as the end, because the run may be aborted.
      const until = event.type === 'alert' ? options.closing : undefined;
      await persist(() => ledger.append(task.id, { type: event.type, data }, change), until);
      if (event.type !== 'progress' || event.data.phase !== 'ended') return;
      // The calls of a peer are counted where they are made.
      const { tool, peer, ok } = event.data;
      if (typeof tool === 'string' && peer === undefined)
        metrics.add('fleet_tool_calls_total', { tool, result: ok === true ? 'ok' : 'error' });
    },
    park,
    async ask(question, { key, signal: withdrawal }) {
      if (parked) throw new FleetError('INTERNAL', `task ${task.id} is parked: it cannot ask`);
      try {
        const asking = {
          ...options,
          park,
          signal: aborting.signal,
          stopping: stopping.signal,
          abortRun: (reason: FleetError) => aborting.abort(reason),
        };
        return await askCaller(asking, { key, text: question }, withdrawal);
      } finally {
        queued = true;
      }
    },
    artifacts: {
      maxBytes: options.artifactLimits.artifactBytes,
      add: async (chunk) => {
        const event = await persist(() => ledger.addArtifact(task.id, chunk, options.artifactLimits));
        return event !== undefined;
      },
      findArtifact: (id) => ledger.wholeArtifact(task.id, id),
    },
    earlier: () => (task.dispatch.task.fresh === true ? undefined : ledger.earlierConversation(task.id)),
    checkpoint: {
      load: () => ledger.loadCheckpoint(task.id),
      save: (...args) => persist(() => ledger.saveCheckpoint(task.id, ...args)),
    },
  };
}
