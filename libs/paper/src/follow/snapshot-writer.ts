import type { Log } from '@hermes-fleet/protocol';

/** Keeps something that changes on disk: one save at a time, each of what is there when it begins. */
export interface SnapshotWriter {
  /** It has changed, in a way that may wait for the next save. */
  touch(): void;
  /** It has changed: saves it. Never throws; what failed is tried again with the next call. */
  keep(): void;
  /** Why the last save failed; undefined once one has succeeded. */
  problem(): string | undefined;
  /** Saves what is not saved yet, once, and resolves when nothing is under way; never rejects. */
  flush(): Promise<void>;
}

export function createSnapshotWriter(o: {
  readonly name: string;
  readonly save: () => Promise<void>;
  readonly log: Log;
}): SnapshotWriter {
  let isStale = false;
  let problem: string | undefined;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    do {
      isStale = false;
      try {
        await o.save();
        if (problem !== undefined) o.log.info({}, `${o.name} is saved again`);
        problem = undefined;
      } catch (err) {
        if (problem === undefined)
          o.log.error({ err }, `${o.name} was not saved; it goes on, and is tried again`);
        problem = err instanceof Error ? err.message : String(err);
        isStale = true;
      }
    } while (isStale && problem === undefined);
    running = undefined;
  }

  function keep(): void {
    isStale = true;
    running ??= run();
  }

  return {
    touch: () => {
      isStale = true;
    },
    keep,
    problem: () => problem,
    flush: async () => {
      await running;
      if (isStale) keep();
      await running;
    },
  };
}
