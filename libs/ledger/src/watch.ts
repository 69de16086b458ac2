import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { Store, Wait, Wakeups } from '@hermes-fleet/store';
import { endedSeq, findEvents, notFound } from './tasks.ts';
import type { TaskEvent } from './types.ts';

const PAGE = 100;
const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * The iterator behind Ledger.watch. Written by hand, since a generator's `return` waits for its pending `next`, and
 * that one may wait for ever. Between two calls of `next` it holds nothing but a page of events.
 */
export function watchTask(o: {
  store: Store;
  wakeups: Wakeups;
  taskId: string;
  afterSeq: number;
  signal: AbortSignal;
}): AsyncIterableIterator<TaskEvent, undefined> {
  const { store, wakeups, taskId, signal } = o;
  let page: TaskEvent[] = [];
  let seq = o.afterSeq;
  let found = false;
  let finished = false;
  let waiting: Wait | undefined;
  let tail: Promise<unknown> = Promise.resolve();

  const take = (): TaskEvent | undefined => {
    if (page.length === 0) page = store.read((db) => findEvents(db, taskId, seq, PAGE)).reverse();
    return page.pop();
  };

  /** Whether nothing can follow what was read: the task has ended, or was pruned while it was watched. */
  const isOver = (): boolean => {
    const ended = store.read((db) => endedSeq(db, taskId));
    if (ended === undefined && !found) throw notFound(taskId);
    found = true;
    return ended !== null;
  };

  const step = async (): Promise<IteratorResult<TaskEvent, undefined>> => {
    while (!finished) {
      signal.throwIfAborted();
      const event = take();
      if (event) {
        seq = event.seq;
        found = true;
        finished = TERMINAL_EVENTS.has(event.type);
        return { done: false, value: event };
      }
      if (isOver()) break;
      waiting = wakeups.wait(taskId, signal);
      await waiting.woken;
    }
    finished = true;
    return END;
  };

  const finish = async (): Promise<IteratorResult<TaskEvent, undefined>> => {
    finished = true;
    page = [];
    waiting?.cancel();
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
