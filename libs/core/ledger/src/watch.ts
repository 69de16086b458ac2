import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { Store, Wait, Wakeups } from '@hermes-fleet/store';
import type { LiveTasks } from './live-tasks.ts';
import { findEvents, hasEnded, notFound } from './task-rows.ts';
import type { TaskEvent } from './types.ts';

const PAGE = 100;
const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** The watches that wait for the next event of their task, and are handed it. */
export function createWaitingWatches() {
  const readers = new Map<string, Set<(event: TaskEvent) => void>>();
  return {
    /** Hands the events of a task to `hand` until the returned function is called. */
    add: (taskId: string, hand: (event: TaskEvent) => void): (() => void) => {
      const others = readers.get(taskId) ?? new Set();
      readers.set(taskId, others.add(hand));
      return () => {
        others.delete(hand);
        if (others.size === 0 && readers.get(taskId) === others) readers.delete(taskId);
      };
    },
    /** Must be called after COMMIT with every event, before its task's waits are woken. */
    committed: (event: TaskEvent): void => {
      const waiting = readers.get(event.taskId);
      if (waiting) for (const hand of waiting) hand(event);
    },
  };
}

interface WatchOptions {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly waiting: ReturnType<typeof createWaitingWatches>;
  readonly live: LiveTasks;
  readonly taskId: string;
  readonly afterSeq: number;
  readonly signal: AbortSignal;
}

/**
 * The iterator of `Ledger.watch`. It is not a generator, because a generator's `return` waits for its pending `next`,
 * which may never resolve. It is handed the events that are committed while it waits; those that come while its reader is
 * busy are read from the file. It holds no more than a page of events.
 */
export function watchTask({
  store,
  wakeups,
  waiting,
  live,
  taskId,
  afterSeq,
  signal,
}: WatchOptions): AsyncIterableIterator<TaskEvent, undefined> {
  let page: TaskEvent[] = [];
  /** The sequence of the last event that was read or handed over. */
  let seq = afterSeq;
  let found = false;
  let finished = false;
  let pending: Wait | undefined;
  let tail: Promise<unknown> = Promise.resolve();

  const nextEvent = (): TaskEvent | undefined => {
    // Throws after `close`.
    const newest = store.read(() => live.findTask(taskId)?.record.lastSeq);
    if (page.length === 0 && (newest === undefined || newest > seq)) {
      page = store.read((db) => findEvents(db, taskId, seq, PAGE));
      seq = page.at(-1)?.seq ?? seq;
    }
    return page.shift();
  };

  const hand = (event: TaskEvent): void => {
    if (page.length >= PAGE || event.seq <= seq) return;
    page.push(event);
    seq = event.seq;
  };

  /** True if no event can follow: the task has ended, or was pruned during the watch. */
  const isOver = (): boolean => {
    if (live.findTask(taskId)) return false;
    const ended = store.read((db) => hasEnded(db, taskId));
    if (ended === undefined && !found) throw notFound(taskId);
    return ended !== false;
  };

  const step = async (): Promise<IteratorResult<TaskEvent, undefined>> => {
    while (!finished) {
      signal.throwIfAborted();
      const event = nextEvent();
      if (event) {
        found = true;
        finished = TERMINAL_EVENTS.has(event.type);
        return { done: false, value: event };
      }
      if (isOver()) break;
      found = true;
      const stop = waiting.add(taskId, hand);
      pending = wakeups.wait(taskId, signal);
      await pending.woken;
      stop();
    }
    finished = true;
    return END;
  };

  const finish = async (): Promise<IteratorResult<TaskEvent, undefined>> => {
    finished = true;
    page = [];
    pending?.cancel();
    return END;
  };

  const guarded = (): Promise<IteratorResult<TaskEvent, undefined>> =>
    step().catch((error: unknown) => {
      finished = true;
      throw error;
    });

  return {
    next: () => {
      const result = tail.then(guarded, guarded);
      tail = result;
      return result;
    },
    return: finish,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
