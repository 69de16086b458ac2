import type { Clock, Log } from '@hermes-fleet/protocol/ports';

/** A failed save is tried again after this time, also without a change. */
const RETRY_MS = 5_000;

/** Saves changing state, one save at a time. Each save takes the state at its start. */
export function createSnapshotWriter(options: {
  readonly name: string;
  readonly save: () => Promise<void>;
  readonly clock: Pick<Clock, 'timer'>;
  readonly log: Log;
  /** Called when a save fails that follows a success, and when one succeeds that follows a failure. */
  readonly onProblem: (problem: string | undefined) => void;
}) {
  let isStale = false;
  let problem: string | undefined;
  let running: Promise<void> | undefined;
  let retry: Disposable | undefined;
  let isClosed = false;

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
    retry?.[Symbol.dispose]();
    retry = problem === undefined || isClosed ? undefined : options.clock.timer(keep, RETRY_MS);
  }

  function keep(): void {
    isStale = true;
    running ??= run();
  }

  return {
    /** Marks the state as changed without starting a save. */
    markDirty: (): void => {
      isStale = true;
    },
    /** Marks the state as changed and saves it. Never throws; a failed save is retried by the next call, or after 5 s. */
    requestSave: keep,
    /** Why the last save failed; undefined after a success. */
    problem: (): string | undefined => problem,
    /** Resolves when no save is in progress; never rejects. */
    idle: async (): Promise<void> => running,
    /** Saves pending changes once and resolves when no save is in progress; never rejects. A save that fails is tried no more. */
    close: async (): Promise<void> => {
      isClosed = true;
      await running;
      if (isStale) keep();
      await running;
      retry?.[Symbol.dispose]();
    },
  };
}
