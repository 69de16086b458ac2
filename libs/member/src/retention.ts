import type { Ledger } from '@hermes-fleet/ledger';
import type { Clock, Log } from '@hermes-fleet/protocol';

const INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The maximum number of tasks per transaction; other writers run between two batches. */
const BATCH = 200;

export interface Retention {
  /** Stops; resolves when the current batch is done. */
  close(): Promise<void>;
}

/**
 * Removes tasks that ended more than `finishedTasksDays` days ago, now and every hour. Tasks with unpublished events are
 * kept: see Ledger.prune. A failure is logged and retried an hour later.
 */
export function startRetention(options: {
  readonly ledger: Pick<Ledger, 'prune'>;
  readonly finishedTasksDays: number;
  readonly clock: Clock;
  readonly log: Log;
}): Retention {
  const closing = new AbortController();
  const { signal } = closing;

  async function prune(): Promise<void> {
    const before = options.clock.now() - options.finishedTasksDays * DAY_MS;
    let removed = 0;
    for (let batch = BATCH; batch === BATCH && !signal.aborted; removed += batch)
      batch = await options.ledger.prune(before, BATCH);
    if (removed > 0) options.log.info({ removed }, 'finished tasks removed');
  }

  async function keepPruning(): Promise<void> {
    while (!signal.aborted) {
      await prune().catch((err) =>
        options.log.warn({ err }, 'finished tasks not removed: trying again in an hour'),
      );
      await options.clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
    }
  }

  const running = keepPruning();
  return {
    close() {
      closing.abort();
      return running;
    },
  };
}
