import { type Clock, type Count, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { createWakeups, openStore, type Queries, type Store, type StoreOptions } from '@hermes-fleet/store';
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
import { addCounts, closeReservations, createFigures, type Recorded } from './figures.ts';
import {
  dropKeptCheckpoint,
  findKeptCheckpoints,
  findLateResult,
  isKept,
  replaceByLateResult,
} from './late-results.ts';
import { createOutbox } from './outbox.ts';
import { createPurges } from './purges.ts';
import { answerQuestion, askQuestion, findQuestions, withdrawQuestion } from './questions.ts';
import { peerRecord } from './rows.ts';
import { LEDGER } from './schema.ts';
import { findSentWork } from './sent-work.ts';
import { isTerminal } from './states.ts';
import { createSubtasksContexts } from './subtasks-context.ts';
import { listTasks } from './task-list.ts';
import {
  acceptTask,
  appendEvent,
  findByKey,
  findContextIds,
  findEvents,
  findTask,
  hasContext,
  notFound,
  pruneTasks,
  unfinishedTasks,
} from './tasks.ts';
import { bookEntry, createTokenStore } from './token-store.ts';
import type { Ledger, NewEvent, TaskChange, TaskEvent, TaskRecord, TaskState } from './types.ts';
import { watchTask } from './watch.ts';

const ALL = -1;

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
  const watchers = createWakeups();
  const relays = createWakeups();
  const checkpoints = createCheckpoints(store);
  const figures = createFigures(store);
  const outbox = createOutbox({ store, wakeups: relays, profile, clock });

  const committed = (event: TaskEvent): void => {
    outbox.committed(event);
    watchers.wake(event.taskId);
    if (TERMINAL_EVENTS.has(event.type)) checkpoints.forget(event.taskId);
  };

  interface Appended {
    readonly appended: TaskEvent | undefined;
    readonly recorded: Recorded;
    readonly isOver: boolean;
  }

  function append(db: Queries, taskId: string, event: NewEvent, change: TaskChange | undefined): Appended {
    const appended = appendEvent(db, clock, taskId, event, change);
    if (!appended) return { appended, recorded: NOTHING, isOver: false };
    const recorded = recordEvent(db, clock, appended, change?.counts ?? []);
    return { appended, recorded, isOver: TERMINAL_EVENTS.has(appended.type) && !isKept(db, taskId) };
  }

  function announce({ appended, recorded, isOver }: Appended): void {
    if (!appended) return;
    committed(appended);
    figures.announce(recorded, isOver ? appended.taskId : undefined);
  }

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
      watchers.wake(taskId);
      // Nobody asks a peer for the late result of a task that is removed.
      figures.announce(NOTHING, taskId);
    }
  };

  return {
    id: store.id,
    accept: async (task, following = []) => {
      const accepted = await store.write(
        (db) => {
          const { task: record, submitted } = acceptTask(db, clock, task);
          if (!submitted) return { record, created: false, submitted, appended: [] };
          const appended = following.map(({ event, change }) => append(db, task.id, event, change));
          return { record: findTask(db, task.id) ?? record, created: true, submitted, appended };
        },
        ({ submitted, appended }) => {
          if (submitted) committed(submitted);
          for (const each of appended) announce(each);
        },
      );
      return { task: accepted.record, created: accepted.created };
    },
    append: async (taskId, event, change) => {
      const { appended } = await store.write((db) => append(db, taskId, event, change), announce);
      return appended;
    },
    findByKey: (caller, key) => store.read((db) => findByKey(db, caller, key)),
    settled: async (taskId, signal) => {
      const current = (): TaskRecord => {
        const record = store.read((db) => findTask(db, taskId));
        if (!record) throw notFound(taskId);
        return record;
      };
      let record = current();
      if (isSettled(record.state)) return record;
      for await (const _ of watchTask({
        store,
        wakeups: watchers,
        taskId,
        afterSeq: record.lastSeq,
        signal,
      })) {
        record = current();
        if (isSettled(record.state)) return record;
      }
      return current();
    },
    ask: async (taskId, question) => {
      const asked = await store.write(
        (db) => askQuestion(db, clock, taskId, question),
        ({ event }) => event && committed(event),
      );
      return asked.question;
    },
    answer: async (taskId, answer) => {
      const { question, event } = await store.write(
        (db) => answerQuestion(db, clock, taskId, answer),
        (answered) => answered.event && committed(answered.event),
      );
      return { question, isNew: event !== undefined };
    },
    withdraw: async (taskId, key) => {
      const { question } = await store.write(
        (db) => withdrawQuestion(db, clock, taskId, key),
        ({ event }) => event && committed(event),
      );
      return question;
    },
    questions: (taskId) => store.read((db) => findQuestions(db, taskId)),
    get: (taskId) => store.read((db) => findTask(db, taskId)),
    list: (query) => store.read((db) => listTasks(db, query)),
    events: (taskId, afterSeq = 0, limit = ALL) =>
      store.read((db) => findEvents(db, taskId, afterSeq, limit)),
    watch: (taskId, afterSeq, signal) => watchTask({ store, wakeups: watchers, taskId, afterSeq, signal }),
    unfinished: () => store.read(unfinishedTasks),
    loadCheckpoint: checkpoints.load,
    saveCheckpoint: checkpoints.save,
    earlierConversation: (taskId) => store.read((db) => findConversation(db, taskId)),
    keptCheckpoints: () => store.read(findKeptCheckpoints),
    saveLateResult: (taskId, result, tokens) =>
      store
        .write(
          (db) =>
            replaceByLateResult(db, taskId, result) ? bookEntry(db, clock, taskId, tokens) : undefined,
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
    lateResult: (taskId) => store.read((db) => findLateResult(db, taskId)),
    peers: () => store.read((db) => db.all('SELECT * FROM peers ORDER BY agent_id').map(peerRecord)),
    savePeer: ({ agentId, announce, receivedAt, caller }) =>
      store.write((db) => {
        db.run(
          'INSERT OR REPLACE INTO peers (agent_id, announce, received_at, caller) VALUES (?, ?, ?, ?)',
          agentId,
          JSON.stringify(announce),
          receivedAt,
          caller ?? null,
        );
      }),
    forgetPeer: (agentId) =>
      store.write((db) => {
        db.run('DELETE FROM peers WHERE agent_id = ?', agentId);
      }),
    prune: async (before, batch) => {
      const pruned = await store.write((db) => pruneTasks(db, clock, before, batch), forget);
      return pruned.length;
    },
    hasContext: (contextId) => store.read((db) => hasContext(db, contextId)),
    contextIds: (after, limit) => store.read((db) => findContextIds(db, after, limit)),
    contexts: {
      delete: async (request) => {
        const { deletion } = await store.write(
          (db) => eraseContext(db, clock, request),
          ({ erased }) => forget(erased),
        );
        return deletion;
      },
      purge: purges.purge,
      find: (contextId) => store.read((db) => findDeletion(db, contextId)),
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
      sentBy: (taskId) => store.read((db) => findSentWork(db, taskId)),
      ...createSubtasksContexts(store),
    },
    tokens: createTokenStore(store, clock, (recorded) => figures.announce(recorded)),
    figures,
    outbox,
    problem: store.problem,
    close: async () => {
      purges.stop();
      store.close();
      watchers.wakeAll();
      relays.wakeAll();
    },
  };
}

const isSettled = (state: TaskState): boolean => state === 'input_required' || isTerminal(state);

const NOTHING: Recorded = { counts: [], bookings: [] };

/** Adds to the figures what an event counts, and what a terminal event leaves to count. */
function recordEvent(db: Queries, clock: Clock, event: TaskEvent, counts: readonly Count[]): Recorded {
  addCounts(db, counts);
  if (!TERMINAL_EVENTS.has(event.type)) return { ...NOTHING, counts };
  const closed = closeReservations(db, clock, event.taskId);
  return { counts: [...counts, ...closed.counts], bookings: closed.bookings };
}
