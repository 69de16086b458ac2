import type { Log } from '@hermes-fleet/protocol';

/** Saves changing state, one save at a time. Each save takes the state at its start. */
export interface SnapshotWriter {
  /** Marks the state as changed without starting a save. */
  markDirty(): void;
  /** Marks the state as changed and saves it. Never throws; a failed save is retried by the next call. */
  requestSave(): void;
  /** Why the last save failed; undefined after a success. */
  problem(): string | undefined;
  /** Resolves when no save is in progress; never rejects. */
  idle(): Promise<void>;
  /** Saves pending changes once and resolves when no save is in progress; never rejects. */
  flush(): Promise<void>;
}

export function createSnapshotWriter(options: {
  readonly name: string;
  readonly save: () => Promise<void>;
  readonly log: Log;
  /** Called when a save fails that follows a success, and when one succeeds that follows a failure. */
  readonly onProblem: (problem: string | undefined) => void;
}): SnapshotWriter {
  let isStale = false;
  let problem: string | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    do {
      isStale = false;
      try {
        await options.save();
        if (problem !== undefined) {
          options.log.info({}, `${options.name} is saved again`);
          problem = undefined;
          options.onProblem(undefined);
        }
      } catch (err) {
        const isNew = problem === undefined;
        problem = err instanceof Error ? err.message : String(err);
        isStale = true;
        if (isNew) {
          options.log.error({ err }, `${options.name} was not saved; it enters no position until it is`);
          options.onProblem(problem);
        }
      }
    } while (isStale && problem === undefined);
    running = undefined;
  }

  function keep(): void {
    isStale = true;
    running ??= run();
  }

  return {
    markDirty: () => {
      isStale = true;
    },
    requestSave: keep,
    problem: () => problem,
    idle: async () => running,
    flush: async () => {
      await running;
      if (isStale) keep();
      await running;
    },
  };
}
