import type { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type CheckpointEnd, type RunningFlag, startCheckpointThread } from './checkpoint-thread.ts';
import { integer } from './row.ts';

/** Writing waits when the log has so many times the size that starts a checkpoint. */
const BOUND = 4;
/**
 * A checkpoint does not move what is written while it runs. The second one finds little; what is left then is moved while
 * writing waits, which takes as long as a commit or two.
 */
const ROUNDS = 2;
/** A checkpoint that takes longer will not end. */
const DEADLINE_MS = 30_000;
/** The maximum time that the event loop is blocked to let a checkpoint end. */
const BLOCKED_MS = 5000;
/** The time from a failure to the next try. */
const AGAIN_AFTER_MS = 60_000;

interface CheckpointsOptions {
  /** The name of the store in messages. */
  readonly name: string;
  /** The connection that writes. */
  readonly db: DatabaseSync;
  readonly clock: Clock;
  readonly log: Log;
  /** Throws if the file is not at its place: the thread opens it by its path. */
  readonly assertInPlace: () => void;
  /** The size of the log that starts a checkpoint, in pages. */
  readonly checkpointPages: number;
  readonly startThread?: typeof startCheckpointThread;
}

/** The pages in the log, those of them that are in the file, and the others. */
interface LogPages {
  readonly total: number;
  readonly moved: number;
  readonly left: number;
}

/**
 * The checkpoints of a write-ahead log, on a thread of their own that starts with the first one. If the thread fails, the connection that writes checkpoints itself. The thread is tried again after a minute; in the place
 * of one that has ended, a new one starts.
 */
export function createCheckpoints(options: CheckpointsOptions) {
  const { name, db, clock, log, checkpointPages, startThread = startCheckpointThread } = options;
  const running: RunningFlag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const file = db.location() ?? '';
  const size = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  let thread: Worker | undefined;
  let isRunning = false;
  let rounds = 0;
  /** The pages of the log that were in the file when the last checkpoint started. */
  let movedBefore = 0;
  /** A checkpoint starts with so many pages left: more where a reader of another process keeps what the last one left. */
  let startAt = checkpointPages;
  let isLittleLeft = false;
  let pauseAt = BOUND * checkpointPages;
  let pause: { readonly promise: Promise<void>; readonly end: () => void; isCovered: boolean } | undefined;
  let deadline: Disposable | undefined;
  /** The time of the next try after a failure; undefined while the thread works. */
  let againAt: number | undefined;
  let isClosed = false;
  db.exec('PRAGMA wal_autocheckpoint = 0');

  const logPages = (): LogPages => {
    const row = size.get() ?? {};
    const total = integer(row, 'log');
    const moved = integer(row, 'checkpointed');
    return { total, moved, left: total - moved };
  };

  const resume = (): void => {
    const ended = pause;
    pause = undefined;
    thread?.unref();
    ended?.end();
  };

  const gone = (): void => {
    deadline?.[Symbol.dispose]();
    thread = undefined;
    isRunning = false;
    Atomics.store(running, 0, 0);
  };

  /** Ends the thread. A checkpoint that hangs may keep it: no other one starts before it is gone. */
  const terminate = (): void => {
    deadline?.[Symbol.dispose]();
    thread?.removeAllListeners();
    // A thread may still report an error after it was terminated.
    thread?.on('error', () => undefined);
    thread?.once('exit', gone);
    void thread?.terminate();
  };

  const fail = (cause: unknown): void => {
    log.error(
      { err: cause },
      `the checkpoint thread of the ${name} failed; writes checkpoint themselves, and it is tried again in a minute`,
    );
    againAt = clock.monotonic() + AGAIN_AFTER_MS;
    rounds = 0;
    isLittleLeft = false;
    resume();
    if (db.isOpen) db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  };

  const worksAgain = (): void => {
    againAt = undefined;
    db.exec('PRAGMA wal_autocheckpoint = 0');
    log.info({}, `the checkpoint thread of the ${name} works again`);
  };

  const newThread = (): Worker => {
    const started = startThread(file, running);
    let cause: unknown;
    started.on('message', ended);
    started.on('error', (error) => {
      cause = error;
    });
    started.on('exit', (code) => {
      gone();
      fail(cause ?? new Error(`the thread ended with code ${code}`));
    });
    return started;
  };

  const start = (pages: LogPages): void => {
    options.assertInPlace();
    thread ??= newThread();
    isRunning = true;
    rounds += 1;
    movedBefore = pages.moved;
    if (pause) pause.isCovered = true;
    Atomics.store(running, 0, 1);
    deadline = clock.timer(() => {
      terminate();
      fail(new Error(`a checkpoint took longer than ${DEADLINE_MS} ms`));
    }, DEADLINE_MS);
    thread.postMessage('checkpoint');
  };

  const attempt = (step: () => void): void => {
    try {
      step();
    } catch (error) {
      fail(error);
    }
  };

  const ended = (failure: CheckpointEnd): void =>
    attempt(() => {
      isRunning = false;
      deadline?.[Symbol.dispose]();
      if (failure !== undefined) throw new Error(failure);
      if (againAt !== undefined) worksAgain();
      const pages = logPages();
      const { total, left } = pages;
      const hasMoved = pages.moved > movedBefore;
      const isCovered = pause?.isCovered === true;
      if (!isCovered && (pause || (left > 0 && hasMoved && rounds < ROUNDS))) return start(pages);
      rounds = 0;
      startAt = left + checkpointPages;
      isLittleLeft = !isCovered && left > 0 && hasMoved;
      if (!isCovered) return;
      // A reader of another process keeps what it reads in the log: writing goes on, and the bound moves.
      pauseAt = left === 0 ? BOUND * checkpointPages : total + checkpointPages;
      resume();
    });

  const startIfDue = (): void => {
    if (againAt !== undefined) {
      if (!isRunning && clock.monotonic() >= againAt) start(logPages());
      return;
    }
    const pages = logPages();
    const { total, left } = pages;
    if (total < BOUND * checkpointPages) pauseAt = BOUND * checkpointPages;
    // A log that started again is short.
    startAt = Math.min(startAt, left + checkpointPages);
    if (total >= pauseAt || isLittleLeft) {
      isLittleLeft = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      pause = { promise, end: resolve, isCovered: false };
    }
    if (!isRunning && (pause || left >= startAt)) start(pages);
    if (pause) thread?.ref();
  };

  return {
    /**
     * Starts a checkpoint when the log has grown. The result is a promise when little is left of the log, or when it has
     * reached its bound: nothing may be written until it resolves, so that a checkpoint can move all of the log, which then
     * starts again. It never rejects.
     */
    afterCommit: (): Promise<void> | undefined => {
      if (isClosed) return undefined;
      attempt(startIfDue);
      return pause?.promise;
    },
    /** Blocks until no checkpoint runs. False if one still runs after five seconds, or at once after a failure. */
    awaitIdle: (): boolean =>
      Atomics.wait(running, 0, 1, againAt === undefined ? BLOCKED_MS : 0) !== 'timed-out',
    /** Ends the thread, after the running checkpoint. Must be called before the connection is closed. */
    close: (): void => {
      if (isClosed) return;
      isClosed = true;
      // Otherwise the thread's connection may be the last one that closes, and leave the log behind.
      if (Atomics.wait(running, 0, 1, BLOCKED_MS) === 'timed-out')
        log.error({}, `a checkpoint of the ${name} did not end; the next start recovers its write-ahead log`);
      terminate();
      resume();
    },
  };
}
