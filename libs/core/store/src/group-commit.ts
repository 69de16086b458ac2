import type { DatabaseSync } from 'node:sqlite';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { createBatchStates } from './batch-states.ts';
import { damageError, isDamage, isStoreFailure } from './errors.ts';
import { Job, type QueuedJob } from './job.ts';

const MAX_BATCH = 512;
const MAX_QUEUED = 20_000;
const PROBE_EVERY_MS = 5000;

interface GroupCommitOptions {
  /** The name of the store in messages. */
  readonly name: string;
  readonly db: DatabaseSync;
  readonly clock: Clock;
  readonly log: Log;
  /** Called before each batch; an error fails the batch. */
  readonly assertReady: () => void;
  /** Writes something, to test whether writing works again. */
  readonly probe: () => void;
  /** The number of writes so far: a transaction that throws has changed nothing if it did not grow. */
  readonly writes: () => number;
  /** Called after each commit. The next batch waits for the promise, which must not reject. */
  readonly afterCommit?: () => Promise<void> | undefined;
}

export type GroupCommit = ReturnType<typeof createGroupCommit>;

/**
 * Batches the transactions of one event loop turn into one COMMIT. A batch runs synchronously, so nobody observes it
 * half done. After a failure it probes every five seconds: a service that a full disk took out of rotation recovers
 * without traffic.
 */
export function createGroupCommit(options: GroupCommitOptions) {
  const { name, db, log } = options;
  const queue: QueuedJob[] = [];
  const states = createBatchStates();
  /** So many jobs at the head of the queue are tried one by one. */
  let alone = 0;
  let scheduled = false;
  let running = false;
  let closed = false;
  let problem: string | undefined;
  let damage: FleetError | undefined;
  let probeTimer: Disposable | undefined;

  const rollback = (): void => {
    if (db.isTransaction) db.exec('ROLLBACK');
  };

  /** Reports that a page of the file is damaged: nothing is written any more. Returns the error that says so. */
  const damaged = (cause: unknown): FleetError => {
    if (damage) return damage;
    damage = damageError(name, cause);
    problem = damage.message;
    log.error({ err: cause }, `${problem}; nothing is written to it any more`);
    return damage;
  };

  const written = (): number => options.writes() + states.asked();

  /** Runs one job. False if what it wrote before it threw must be rolled back. Throws the failure of the store. */
  const runJob = (job: QueuedJob): boolean => {
    const before = written();
    try {
      job.run();
      return true;
    } catch (error) {
      if (isStoreFailure(error)) throw error;
      job.refuse(FleetError.from(error));
      return written() === before && db.isTransaction;
    }
  };

  /** Writes the states. False if that failed, for the only job of the batch or for one that is not known. */
  const writeStates = (batch: readonly QueuedJob[]): boolean => {
    try {
      states.write();
      return true;
    } catch (error) {
      if (isStoreFailure(error)) throw error;
      for (const job of batch) job.refuse(FleetError.from(error));
      return false;
    }
  };

  /** Runs and commits the batch. False if an error rolled it back. Throws the failure of the store. */
  const transact = (batch: readonly QueuedJob[]): boolean => {
    rollback();
    if (damage) throw damage;
    options.assertReady();
    db.exec('BEGIN IMMEDIATE');
    states.begin();
    running = true;
    try {
      const isWhole = batch.every(runJob) && writeStates(batch);
      if (isWhole) db.exec('COMMIT');
      else rollback();
      return isWhole;
    } finally {
      running = false;
      states.end();
    }
  };

  const commit = (batch: readonly QueuedJob[]): void => {
    let isCommitted: boolean;
    try {
      isCommitted = transact(batch);
    } catch (error) {
      fail(batch, error);
      return;
    }
    if (!isCommitted && batch.length > 1) {
      queue.unshift(...batch);
      alone = batch.length;
      return;
    }
    if (isCommitted) {
      if (problem !== undefined) log.info({}, `the ${name} can write again`);
      problem = undefined;
    }
    for (const job of batch) end(job);
  };

  const end = (job: QueuedJob): void => {
    try {
      job.end();
    } catch (error) {
      log.error({ err: error }, `what follows a commit of the ${name} failed; the commit stands`);
    }
  };

  /** Sets the problem, and returns the error of the writes that are lost with it. */
  const problemOf = (cause: unknown, transactions: number): FleetError => {
    if (damage || isDamage(cause)) return damaged(cause);
    const reason = cause instanceof Error ? cause.message : String(cause);
    problem = `the ${name} cannot write: ${reason}`;
    log.error({ err: cause, transactions }, `the ${name} cannot write; the batch was rolled back`);
    return new FleetError('STORE_UNAVAILABLE', `${problem}; try again later`, { cause, retryAfterS: 5 });
  };

  const fail = (batch: readonly QueuedJob[], cause: unknown): void => {
    const lost = problemOf(cause, batch.length);
    try {
      rollback();
    } catch (error) {
      log.error({ err: error }, 'the rollback failed too; it is tried again before the next batch');
    }
    // The queued jobs fail too: no write may overtake an earlier one.
    alone = 0;
    for (const job of [...batch, ...queue.splice(0)]) {
      job.refuse(lost);
      job.end();
    }
    if (!damage) probeTimer ??= options.clock.timer(probe, PROBE_EVERY_MS);
  };

  const probe = (): void => {
    probeTimer = undefined;
    if (problem === undefined || damage || closed) return;
    commit([{ run: options.probe, refuse: () => undefined, end: () => undefined }]);
  };

  const commitNext = (): void => {
    scheduled = false;
    if (queue.length === 0) return;
    commit(takeJobs());
    const pause = closed ? undefined : options.afterCommit?.();
    if (pause === undefined) {
      schedule();
      return;
    }
    scheduled = true;
    void pause.then(() => {
      scheduled = false;
      schedule();
    });
  };

  const takeJobs = (): readonly QueuedJob[] => {
    if (alone === 0) return queue.splice(0, MAX_BATCH);
    alone -= 1;
    return queue.splice(0, 1);
  };

  const schedule = (): void => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(commitNext);
  };

  const refusal = (): FleetError | undefined => {
    if (closed) return new FleetError('SHUTTING_DOWN', `the ${name} is closed; try again after the restart`);
    if (damage) return damage;
    if (queue.length < MAX_QUEUED) return undefined;
    const message = `${MAX_QUEUED} writes already wait for the ${name}; try again later`;
    return new FleetError('STORE_UNAVAILABLE', message, { retryAfterS: 1 });
  };

  return {
    /**
     * Runs a synchronous transaction in the next batch; resolves with its value after COMMIT. One that throws before its
     * first write only fails itself. When one throws after a write, the batch is rolled back, and its transactions run
     * again one by one, each with a COMMIT of its own: so a transaction may run twice, and must not rely on what its first
     * run changed outside of the database. STORE_UNAVAILABLE means that the batch was not committed: neither its writes
     * nor the queued ones behind it are stored. `onCommitted` is called after COMMIT and before the promise resolves. An error
     * of it is logged, and the promise resolves nevertheless, because the transaction is stored.
     */
    write: <T>(transaction: () => T, onCommitted?: (value: T) => void): Promise<T> => {
      const refused = refusal();
      if (refused) return Promise.reject(refused);
      return new Promise((resolve, reject) => {
        queue.push(new Job(transaction, onCommitted, resolve, reject));
        schedule();
      });
    },
    /**
     * Adds state that the transactions of one batch share, such as sums that are written once for all of them. The
     * returned function gives the state of the open transaction; `create` makes it when it is first asked for, and it is
     * forgotten at COMMIT and at ROLLBACK. It throws INTERNAL outside of a transaction. `write` stores the state after the
     * last transaction of the batch and before COMMIT, unless nobody asked for it. Asking counts as a write, and an error
     * of `write` as one of a transaction.
     */
    perBatch: states.add,
    /** True while a batch runs. */
    inBatch: (): boolean => running,
    /** The reason why the last batch was not committed; undefined after a successful commit. Damage stays. */
    problem: (): string | undefined => problem,
    damaged,
    /** Commits the queued writes at once; later writes fail with SHUTTING_DOWN. */
    close: (): void => {
      closed = true;
      while (queue.length > 0) commit(takeJobs());
      probeTimer?.[Symbol.dispose]();
    },
  };
}
