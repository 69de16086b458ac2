import type { Ledger, LedgerContexts } from '@hermes-fleet/ledger';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';

const INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MB = 1024 * 1024;
/** The maximum number of tasks or contexts per transaction; other writers run between two batches. */
const BATCH = 200;

export type Retention = ReturnType<typeof startRetention>;

/** The contexts of a member's agent; libs/agent/loop provides them. */
export interface RetainedContexts {
  /** Removes the contexts that no task needs and nobody used since, and unmerged results that are older. */
  prune(options: {
    readonly unusedBefore: number;
    readonly resultsBefore: number | undefined;
    hasTasks(contextId: string): boolean;
    contextIds(after: string, limit: number): readonly string[];
    readonly signal: AbortSignal;
  }): Promise<{ readonly contexts: number; readonly results: number }>;
  /** Resolves with a function that tells whether a context had files or a result when this was called. */
  held(): Promise<(contextId: string) => boolean>;
}

/**
 * Removes tasks that ended more than `finishedTasksDays` days ago and conversations beyond `conversationsMb`, and then the
 * contexts without tasks that were not used for that long, results without contexts that are older than `resultsDays`, and
 * at last the callers of contexts of which nothing is left, now and every hour
 * (docs/operations.md#what-is-removed-and-when). Tasks with unpublished events are kept: see Ledger.prune. A failure is
 * logged and retried an hour later.
 */
export function startRetention(options: {
  readonly ledger: Pick<Ledger, 'prune' | 'hasContext' | 'contextIds'> & {
    readonly contexts: Pick<LedgerContexts, 'remembered' | 'forget' | 'trimConversations'>;
  };
  readonly finishedTasksDays: number;
  /** Undefined: unmerged results stay, and so do callers with work at peers. */
  readonly resultsDays?: number | undefined;
  /** The size of all conversations together, MiB; the oldest beyond it are removed. */
  readonly conversationsMb: number;
  /** Absent for a member without contexts. */
  readonly contexts?: RetainedContexts | undefined;
  readonly clock: Clock;
  readonly log: Log;
}) {
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
    const maxBytes = options.conversationsMb * MB;
    let trimmed = 0;
    for (let batch = BATCH; batch === BATCH && !signal.aborted; trimmed += batch)
      batch = await ledger.contexts.trimConversations(maxBytes, BATCH);
    if (trimmed > 0) log.info({ trimmed }, 'conversations removed: all together were too large');
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

  /** A caller that comes after the look at the workspace is too young to be forgotten. */
  async function forgetCallers(): Promise<void> {
    const forgettable = {
      before: clock.now(),
      peersBefore: options.resultsDays === undefined ? undefined : ago(options.resultsDays),
    };
    const isHeld = (await contexts?.held()) ?? (() => false);
    let after = '';
    for (let page = BATCH; page === BATCH && !signal.aborted; ) {
      const remembered = ledger.contexts.remembered(after, BATCH, forgettable);
      const gone = remembered.filter(({ contextId, mayGo }) => mayGo && !isHeld(contextId));
      if (gone.length > 0)
        await ledger.contexts.forget(
          gone.map(({ contextId }) => contextId),
          forgettable,
        );
      page = remembered.length;
      after = remembered.at(-1)?.contextId ?? '';
      // Requests are served between two pages.
      await new Promise(setImmediate);
    }
  }

  async function keepPruning(): Promise<void> {
    while (!signal.aborted) {
      await prune().catch((err) => log.warn({ err }, 'finished tasks not removed: trying again in an hour'));
      await pruneContexts().catch((err) => {
        if (!signal.aborted) log.warn({ err }, 'contexts without tasks not removed: trying again in an hour');
      });
      if (!signal.aborted)
        await forgetCallers().catch((err) => {
          if (!signal.aborted)
            log.warn({ err }, 'callers of removed contexts not forgotten: trying again in an hour');
        });
      await clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
    }
  }

  const running = keepPruning();
  return {
    /** Stops; resolves when the current batch is done. */
    close(): Promise<void> {
      closing.abort();
      return running;
    },
  };
}
