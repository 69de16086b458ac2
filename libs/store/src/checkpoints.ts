import type { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import type { Clock, Log } from '@hermes-fleet/protocol';
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

/** The checkpoints of a write-ahead log, on a thread of their own that starts with the first one. */
export interface Checkpoints {
  /**
   * Starts a checkpoint when the log has grown. The result is a promise when little is left of the log, or when it has
   * reached its bound: nothing may be written until it resolves, so that a checkpoint can move all of the log, which then
   * starts again. It never rejects.
   */
  afterCommit(): Promise<void> | undefined;
  /** Blocks until no checkpoint runs. False if one still runs after five seconds. */
  awaitIdle(): boolean;
  /** Ends the thread, after the running checkpoint. Must be called before the connection is closed. */
  close(): void;
}

export interface CheckpointsOptions {
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

/** If the thread fails, the connection that writes checkpoints from then on. */
export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const { name, db, clock, log, checkpointPages, startThread = startCheckpointThread } = options;
  const running: RunningFlag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const file = db.location() ?? '';
  const size = db.prepare('PRAGMA wal_checkpoint(NOOP)');
  let thread: Worker | undefined;
  let isRunning = false;
  let rounds = 0;
  let isLittleLeft = false;
  let pauseAt = BOUND * checkpointPages;
  let pause: { readonly promise: Promise<void>; readonly end: () => void; isCovered: boolean } | undefined;
  let deadline: Disposable | undefined;
  let isOver = false;
  db.exec('PRAGMA wal_autocheckpoint = 0');

  /** The pages in the log, and those of them that are not in the file yet. */
  const logPages = (): { readonly total: number; readonly left: number } => {
    const row = size.get() ?? {};
    const total = integer(row, 'log');
    return { total, left: total - integer(row, 'checkpointed') };
  };

  const resume = (): void => {
    const ended = pause;
    pause = undefined;
    thread?.unref();
    ended?.end();
  };

  const stop = (): void => {
    isOver = true;
    deadline?.[Symbol.dispose]();
    thread?.removeAllListeners();
    // A thread may still report an error after it was terminated.
    thread?.on('error', () => undefined);
    void thread?.terminate();
    resume();
  };

  const fail = (cause: unknown): void => {
    if (isOver) return;
    log.error(
      { err: cause },
      `the checkpoint thread of the ${name} failed; writes checkpoint themselves until the restart`,
    );
    stop();
    if (db.isOpen) db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  };

  const start = (): void => {
    options.assertInPlace();
    if (!thread) {
      thread = startThread(file, running);
      thread.on('message', ended);
      thread.on('error', fail);
      thread.on('exit', (code) => {
        Atomics.store(running, 0, 0);
        fail(new Error(`the thread ended with code ${code}`));
      });
    }
    isRunning = true;
    rounds += 1;
    if (pause) pause.isCovered = true;
    Atomics.store(running, 0, 1);
    deadline = clock.timer(
      () => fail(new Error(`a checkpoint took longer than ${DEADLINE_MS} ms`)),
      DEADLINE_MS,
    );
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
      const { total, left } = logPages();
      if (pause?.isCovered) {
        // A reader of another process keeps what it reads in the log: writing goes on, and the bound moves.
        pauseAt = left === 0 ? BOUND * checkpointPages : total + checkpointPages;
        rounds = 0;
        resume();
      } else if (pause || (left > 0 && rounds < ROUNDS)) start();
      else {
        isLittleLeft = left > 0;
        rounds = 0;
      }
    });

  return {
    afterCommit: () => {
      if (isOver) return undefined;
      attempt(() => {
        const { total, left } = logPages();
        if (total < BOUND * checkpointPages) pauseAt = BOUND * checkpointPages;
        if (total >= pauseAt || isLittleLeft) {
          isLittleLeft = false;
          const { promise, resolve } = Promise.withResolvers<void>();
          pause = { promise, end: resolve, isCovered: false };
        }
        if (!isRunning && (pause || left >= checkpointPages)) start();
        if (pause) thread?.ref();
      });
      return pause?.promise;
    },
    awaitIdle: () => Atomics.wait(running, 0, 1, BLOCKED_MS) !== 'timed-out',
    close: () => {
      if (isOver) return;
      // Otherwise the thread's connection may be the last one that closes, and leave the log behind.
      if (Atomics.wait(running, 0, 1, BLOCKED_MS) === 'timed-out')
        log.error({}, `a checkpoint of the ${name} did not end; the next start recovers its write-ahead log`);
      stop();
    },
  };
}
