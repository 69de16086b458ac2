import { TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import type { Store, Wait, Wakeups } from '@hermes-fleet/store';
import { endedSeq, findEvents, notFound } from './tasks.ts';
import type { TaskEvent } from './types.ts';

const PAGE = 100;
const END: IteratorReturnResult<undefined> = { done: true, value: undefined };

export interface WatchOptions {
  readonly store: Store;
  readonly wakeups: Wakeups;
  readonly taskId: string;
  readonly afterSeq: number;
  readonly signal: AbortSignal;
}

/**
 * The iterator of `Ledger.watch`. It is not a generator, because a generator's `return` waits for its pending `next`,
 * which may never resolve. Between two calls of `next` it holds only a page of events.
 */
export function watchTask({
  store,
  wakeups,
  taskId,
  afterSeq,
  signal,
}: WatchOptions): AsyncIterableIterator<TaskEvent, undefined> {
  let page: TaskEvent[] = [];
  let seq = afterSeq;
  let found = false;
  let finished = false;
  let waiting: Wait | undefined;
  let tail: Promise<unknown> = Promise.resolve();

  const take = (): TaskEvent | undefined => {
    if (page.length === 0) page = store.read((db) => findEvents(db, taskId, seq, PAGE)).reverse();
    return page.pop();
  };

  /** True if no event can follow: the task has ended, or was pruned during the watch. */
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
