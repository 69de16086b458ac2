import { createWakeups, openStore, type Store, type StoreOptions } from '@hermes-fleet/store';
import { createCheckpoints } from './checkpoints.ts';
import { findRemembered, forgetCallers } from './context-callers.ts';
import {
  findDeletion,
  findDeletions,
  findUnpurged,
  recordProgress,
  recordPurged,
} from './context-deletions.ts';
import { findConversation, trimConversations } from './conversations.ts';
import { eraseContext } from './erase-context.ts';
import { createFigures, NOTHING } from './figures.ts';
import { createJoins } from './joins.ts';
import {
  dropKeptCheckpoint,
  findKeptCheckpoints,
  findLateResult,
  replaceByLateResult,
} from './late-results.ts';
import { createLiveTasks } from './live-tasks.ts';
import { createOutbox } from './outbox.ts';
import { pruneTasks } from './prune.ts';
import { createPurges } from './purges.ts';
import { createPushConfigs } from './push-configs.ts';
import { peerRecord } from './rows.ts';
import { LEDGER } from './schema.ts';
import { findSentWork } from './sent-work.ts';
import { createSpendingDays } from './spending-days.ts';
import { createSubtasksContexts } from './subtasks-context.ts';
import { createSums } from './sums.ts';
import { listTasks } from './task-list.ts';
import { createTaskLog } from './task-log.ts';
import { findBeginning, findContextIds, findLatest, findLatestResults, hasContext } from './task-rows.ts';
import { createTaskWrites } from './task-writes.ts';
import { bookEntry, createTokenStore } from './token-store.ts';
import type { Ledger } from './types.ts';

/** A missing `file` is created with its directory. Only one process may own it: see `acquireOwnership`. */
export type LedgerOptions = Omit<StoreOptions, 'schema'>;

/**
 * Opens and migrates the durable task log of a profile. Throws CONFIG_INVALID if the file is not a ledger, belongs to
 * another profile or was written by a newer version, STORE_UNAVAILABLE if it is temporarily unusable.
 */
export function openLedger(options: LedgerOptions): Ledger {
  const store = openStore({ ...options, schema: LEDGER });
  try {
    return createLedger(options, store);
  } catch (error) {
    store.close();
    throw error;
  }
}

/** A ledger over an open store, which it closes. */
export function createLedger(
  { profile, clock }: Pick<LedgerOptions, 'profile' | 'clock'>,
  store: Store,
): Ledger {
  const relays = createWakeups();
  const sums = createSums(store);
  const days = createSpendingDays(clock);
  const live = createLiveTasks();
  const writes = createTaskWrites(store, live);
  const checkpoints = createCheckpoints(store, live, writes);
  const figures = createFigures(store);
  const outbox = createOutbox({ store, wakeups: relays, profile, clock });
  const scope = { clock, sums, writes };
  const log = createTaskLog({ store, live, scope, checkpoints, figures, outbox });

  const purges = createPurges({
    store,
    clock,
    onPurged: () => {
      const contextIds = store.read(findUnpurged);
      return store.write((db) => recordPurged(db, contextIds));
    },
  });

  const forget = (taskIds: readonly string[]): void => {
    purges.erased();
    for (const taskId of taskIds) {
      log.removed(taskId);
      // Nobody asks a peer for the late result of a task that is removed.
      figures.announce(NOTHING, taskId);
    }
  };

  return {
    id: store.id,
    ...log.tasks,
    list: (query) => store.read((db) => listTasks(db, query)),
    loadCheckpoint: checkpoints.load,
    saveCheckpoint: checkpoints.save,
    earlierConversation: (taskId) => store.read((db) => findConversation(db, taskId)),
    keptCheckpoints: () => store.read(findKeptCheckpoints),
    saveLateResult: (taskId, result, tokens) =>
      store
        .write(
          (db) =>
            replaceByLateResult(db, taskId, result) ? bookEntry(db, scope, taskId, tokens) : undefined,
          (recorded) => recorded && figures.announce(recorded, taskId),
        )
        .then((recorded) => recorded !== undefined),
    dropKeptCheckpoint: (taskId) =>
      store.write(
        (db) => dropKeptCheckpoint(db, taskId),
        (dropped) => {
          if (dropped) figures.announce(NOTHING, taskId);
        },
      ),
    lateResult: (taskId) =>
      store.read((db) =>
        live.findRecent(taskId)?.belongings.has('checkpoint') === false
          ? undefined
          : findLateResult(db, taskId),
      ),
    peers: () => store.read((db) => db.all('SELECT * FROM peers ORDER BY agent_id').map(peerRecord)),
    savePeer: ({ agentId, announce, receivedAt, caller }) =>
      store.write((db) => {
        const sql =
          'INSERT OR REPLACE INTO peers (agent_id, announce, received_at, caller) VALUES (?, ?, ?, ?)';
        db.run(sql, agentId, JSON.stringify(announce), receivedAt, caller ?? null);
      }),
    forgetPeer: (agentId) =>
      store.write((db) => {
        db.run('DELETE FROM peers WHERE agent_id = ?', agentId);
      }),
    prune: async (before, batch) => {
      const pruned = await store.write(
        (db) => {
          days.prune(db, before);
          const taskIds = pruneTasks(db, scope, before, batch);
          writes.removed(taskIds);
          return taskIds;
        },
        (taskIds) => {
          figures.removedDays();
          forget(taskIds);
        },
      );
      return pruned.length;
    },
    hasContext: (contextId) => store.read((db) => hasContext(db, contextId)),
    contextIds: (after, limit) => store.read((db) => findContextIds(db, after, limit)),
    contexts: {
      delete: async (request) => {
        const { deletion } = await store.write(
          (db) => eraseContext(db, scope, request),
          ({ erased }) => forget(erased),
        );
        return deletion;
      },
      purge: purges.purge,
      findDeletion: (contextId) => store.read((db) => findDeletion(db, contextId)),
      deletions: () => store.read(findDeletions),
      record: (contextId, progress) => store.write((db) => recordProgress(db, contextId, progress)),
      remembered: (after, limit, forgettable) =>
        store.read((db) => findRemembered(db, after, limit, forgettable)),
      forget: (contextIds, forgettable) => store.write((db) => forgetCallers(db, contextIds, forgettable)),
      trimConversations: (maxBytes, batch) =>
        store.write(
          (db) => trimConversations(db, maxBytes, batch),
          (removed) => {
            if (removed > 0) purges.erased();
          },
        ),
      latest: (contextId, caller) => store.read((db) => findLatest(db, contextId, caller)),
      beginning: (contextId, caller) => store.read((db) => findBeginning(db, contextId, caller)),
      latestResults: (contextId, caller, limit) =>
        store.read((db) => findLatestResults(db, contextId, caller, limit)),
      sentBy: (taskId) => store.read((db) => findSentWork(db, taskId)),
      ...createSubtasksContexts(store),
    },
    tokens: createTokenStore(store, live, scope, (recorded) => figures.announce(recorded)),
    figures,
    outbox,
    push: createPushConfigs(store),
    joins: createJoins(store),
    problem: store.problem,
    close: async () => {
      purges.stop();
      store.close();
      log.close();
      relays.wakeAll();
    },
  };
}
