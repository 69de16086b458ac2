import type { Count } from '@hermes-fleet/protocol/ports';
import { createWakeups, type Queries, type Store } from '@hermes-fleet/store';
import { acceptTask } from './accept.ts';
import { appendEvent } from './append.ts';
import type { Appended } from './appended.ts';
import { createArtifactLog } from './artifact-log.ts';
import type { createCheckpoints } from './checkpoints.ts';
import { closeReservations, type createFigures, NOTHING, type Recorded, together } from './figures.ts';
import { hasCheckpoint } from './late-results.ts';
import type { LiveTasks } from './live-tasks.ts';
import type { Outbox } from './outbox.ts';
import { answerQuestion, askQuestion, findQuestions, withdrawQuestion } from './questions.ts';
import { createSettling } from './settled.ts';
import { isSettled, isTerminal } from './states.ts';
import { findByKey, findEvents, findNumber, findTask, notFound, unfinishedTasks } from './task-rows.ts';
import type { Scope } from './task-writes.ts';
import type { Ledger, NewEvent, TaskChange, TaskRecord } from './types.ts';
import { createWaitingWatches, watchTask } from './watch.ts';

const ALL = -1;

interface TaskLogOptions {
  readonly store: Store;
  readonly live: LiveTasks;
  readonly scope: Scope;
  readonly checkpoints: ReturnType<typeof createCheckpoints>;
  readonly figures: ReturnType<typeof createFigures>;
  readonly outbox: Outbox;
}

/** The part of a ledger that writes and reads the logs of tasks. */
export function createTaskLog({ store, live, scope, checkpoints, figures, outbox }: TaskLogOptions) {
  const { sums, writes } = scope;
  const watchers = createWakeups();
  const waiting = createWaitingWatches();
  const settling = createSettling();

  /** Must be called after COMMIT with each event, in order, before anybody else hears of it: see `announce`. */
  function announceEvent(appended: Appended): void {
    const { event, isTerminal } = appended;
    writes.committed(event.seq);
    const record = live.applied(appended);
    if (isTerminal) checkpoints.forget(event.taskId);
    outbox.committed(event);
    waiting.committed(event);
    watchers.wake(event.taskId);
    if (record) settling.changed(record);
  }

  /** An appended event with what it adds to the figures. */
  interface Counted {
    readonly appended: Appended | undefined;
    readonly recorded: Recorded;
    readonly isOver: boolean;
  }

  /** The ledger itself follows the event first, so that a listener that throws does not leave it behind its file. */
  function announce({ appended, recorded, isOver }: Counted): void {
    if (!appended) return;
    announceEvent(appended);
    figures.announce(recorded, isOver ? appended.event.taskId : undefined);
  }

  /** As `announce`, with all events of an acceptance before the first listener. */
  function announceAccepted(appended: readonly Appended[]): void {
    for (const each of appended) announceEvent(each);
    for (const { event, change, isTerminal } of appended) {
      const counts = change?.counts ?? NO_COUNTS;
      figures.announce({ counts, bookings: [] }, isTerminal ? event.taskId : undefined);
    }
  }

  function append(db: Queries, taskId: string, event: NewEvent, change: TaskChange | undefined): Counted {
    const task = writes.get(db, taskId);
    const { n, belongings } = task;
    const appended = appendEvent(db, scope, task, event, change);
    if (!appended) return { appended, recorded: NOTHING, isOver: false };
    const counts = change?.counts ?? NO_COUNTS;
    sums.count(counts);
    const counted = { counts, bookings: [] };
    if (!appended.isTerminal) return { appended, recorded: counted, isOver: false };
    const recorded = belongings.has('tokens')
      ? together([counted, closeReservations(db, scope, n)])
      : counted;
    return { appended, recorded, isOver: !(belongings.has('checkpoint') && hasCheckpoint(db, n)) };
  }

  /** The task as the last COMMIT left it. */
  function get(taskId: string): TaskRecord | undefined {
    return store.read((db) => {
      const known = live.findTask(taskId)?.record;
      if (known) return known;
      const found = findTask(db, taskId);
      if (found && !isTerminal(found.record.state)) live.found(found.n, found.record);
      return found?.record;
    });
  }

  const tasks = {
    ...createArtifactLog(store, live, scope, announceEvent),
    accept: async (task, following = []) => {
      const acceptance = await store.write(
        (db) => {
          const accepted = acceptTask(db, scope, task, following);
          if (accepted.kind === 'created')
            for (const { change } of accepted.appended) sums.count(change?.counts ?? NO_COUNTS);
          return accepted;
        },
        (accepted) => {
          if (accepted.kind !== 'created') return;
          live.accepted(accepted.n, accepted.task);
          announceAccepted(accepted.appended);
        },
      );
      if (acceptance.kind === 'refused') throw acceptance.error;
      return { task: acceptance.task, created: acceptance.kind === 'created' };
    },
    append: async (taskId, event, change) => {
      const { appended } = await store.write(
        (db) => append(db, taskId, event, change),
        (counted) => announce(counted),
      );
      return appended?.event;
    },
    findByKey: (caller, key) => store.read((db) => findByKey(db, caller, key)),
    settled: async (taskId, signal) => {
      const record = get(taskId);
      if (!record) throw notFound(taskId);
      return isSettled(record.state) ? record : settling.wait(taskId, signal);
    },
    ask: async (taskId, question) => {
      const asked = await store.write(
        (db) => askQuestion(db, scope, writes.get(db, taskId), question),
        ({ appended }) => {
          live.stores(taskId, 'questions');
          if (appended) announceEvent(appended);
        },
      );
      return asked.question;
    },
    answer: async (taskId, answer) => {
      const { question, appended } = await store.write(
        (db) => answerQuestion(db, scope, writes.get(db, taskId), answer),
        (answered) => answered.appended && announceEvent(answered.appended),
      );
      return { question, isNew: appended !== undefined };
    },
    withdraw: async (taskId, key) => {
      const { question } = await store.write(
        (db) => {
          const task = writes.findTask(db, taskId);
          return task ? withdrawQuestion(db, scope, task, key) : { question: undefined };
        },
        ({ appended }) => appended && announceEvent(appended),
      );
      return question;
    },
    questions: (taskId) =>
      store.read((db) => {
        const known = live.findRecent(taskId);
        const n = known?.n ?? findNumber(db, taskId);
        return n === undefined || known?.belongings.has('questions') === false ? [] : findQuestions(db, n);
      }),
    get,
    events: (taskId, afterSeq = 0, limit = ALL) =>
      store.read((db) => findEvents(db, taskId, afterSeq, limit)),
    watch: (taskId, afterSeq, signal) =>
      watchTask({ store, wakeups: watchers, waiting, live, taskId, afterSeq, signal }),
    unfinished: () =>
      store.read((db) =>
        unfinishedTasks(db).map(({ n, record }) => {
          if (!live.findTask(record.id)) live.found(n, record);
          return record;
        }),
      ),
  } satisfies Partial<Ledger>;
  return {
    tasks,
    /** Must be called after COMMIT with each task that was removed. */
    removed: (taskId: string): void => {
      watchers.wake(taskId);
      settling.removed(taskId);
    },
    /** Ends every wait; the store must be closed. */
    close: (): void => {
      watchers.wakeAll();
      settling.close();
    },
  };
}

const NO_COUNTS: readonly Count[] = [];
