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

/** The contexts of a member's agent; libs/agent provides them. */
export interface RetainedContexts {
  /** Removes the contexts that no task needs and nobody used since, and unmerged results that are older. */
  prune(options: {
    readonly unusedBefore: number;
    readonly resultsBefore: number | undefined;
    hasTasks(contextId: string): boolean;
    contextIds(after: string, limit: number): readonly string[];
    readonly signal: AbortSignal;
  }): Promise<{ readonly contexts: number; readonly results: number }>;
}

/**
 * Removes tasks that ended more than `finishedTasksDays` days ago, and then the contexts without tasks that were not used
 * for that long, and results without contexts that are older than `resultsDays`, now and every hour
 * (docs/operations.md#what-is-removed-and-when). Tasks with unpublished events are kept: see Ledger.prune. A failure is
 * logged and retried an hour later.
 */
export function startRetention(options: {
  readonly ledger: Pick<Ledger, 'prune' | 'hasContext' | 'contextIds'>;
  readonly finishedTasksDays: number;
  /** Undefined: unmerged results stay. */
  readonly resultsDays?: number | undefined;
  /** Absent for a member without contexts. */
  readonly contexts?: RetainedContexts | undefined;
  readonly clock: Clock;
  readonly log: Log;
}): Retention {
  const { ledger, contexts, clock, log } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const ago = (days: number): number => clock.now() - days * DAY_MS;

  async function prune(): Promise<void> {
    const before = ago(options.finishedTasksDays);
    let removed = 0;
    for (let batch = BATCH; batch === BATCH && !signal.aborted; removed += batch)
      batch = await ledger.prune(before, BATCH);
    if (removed > 0) log.info({ removed }, 'finished tasks removed');
  }

  async function pruneContexts(): Promise<void> {
    if (contexts === undefined || signal.aborted) return;
    const removed = await contexts.prune({
      unusedBefore: ago(options.finishedTasksDays),
      resultsBefore: options.resultsDays === undefined ? undefined : ago(options.resultsDays),
      hasTasks: (contextId) => ledger.hasContext(contextId),
      contextIds: (after, limit) => ledger.contextIds(after, limit),
      signal,
    });
    if (removed.contexts > 0 || removed.results > 0) log.info(removed, 'contexts and results removed');
  }

  async function keepPruning(): Promise<void> {
    while (!signal.aborted) {
      await prune().catch((err) => log.warn({ err }, 'finished tasks not removed: trying again in an hour'));
      await pruneContexts().catch((err) => {
        if (!signal.aborted) log.warn({ err }, 'contexts without tasks not removed: trying again in an hour');
      });
      await clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
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
