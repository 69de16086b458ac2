import type { DatabaseSync } from 'node:sqlite';
import { type Clock, FleetError, type Log } from '@hermes-fleet/protocol';
import { damageError, isDamage, isStoreFailure } from './errors.ts';

const MAX_BATCH = 512;
const MAX_QUEUED = 20_000;
const PROBE_EVERY_MS = 5000;

interface Job {
  /** Runs the transaction. The returned function acknowledges it after COMMIT. */
  run(): () => void;
  fail(error: FleetError): void;
}

export interface GroupCommit {
  /**
   * Runs a synchronous transaction in the next batch, in its own savepoint; resolves with its value after COMMIT. A
   * transaction that throws rolls back only itself. STORE_UNAVAILABLE means that the batch was not committed: neither
   * its writes nor the queued ones behind it are stored. `onCommitted` is called after COMMIT and before the promise
   * resolves.
   */
  write<T>(transaction: () => T, onCommitted?: (value: T) => void): Promise<T>;
  /** The reason why the last batch was not committed; undefined after a successful commit. Damage stays. */
  problem(): string | undefined;
  /** Reports that a page of the file is damaged: nothing is written any more. Returns the error that says so. */
  damaged(cause: unknown): FleetError;
  /** Calls `hook` in the transaction of each batch, after its jobs. An error fails the batch. */
  beforeCommit(hook: () => void): void;
  /** Commits the queued writes at once; later writes fail with SHUTTING_DOWN. */
  close(): void;
}

export interface GroupCommitOptions {
  /** The name of the store in messages. */
  readonly name: string;
  readonly db: DatabaseSync;
  readonly clock: Clock;
  readonly log: Log;
  /** Called before each batch; an error fails the batch. */
  readonly assertReady: () => void;
  /** Writes something, to test whether writing works again. */
  readonly probe: () => void;
}

/**
 * Batches the transactions of one event loop turn into one COMMIT. A batch runs synchronously, so nobody observes it
 * half done. After a failure it probes every five seconds: a service that a full disk took out of rotation recovers
 * without traffic.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { name, db, log } = options;
  const queue: Job[] = [];
  const hooks: (() => void)[] = [];
  let scheduled = false;
  let closed = false;
  let problem: string | undefined;
  let damage: FleetError | undefined;
  let probeTimer: Disposable | undefined;

  const rollback = (): void => {
    if (db.isTransaction) db.exec('ROLLBACK');
  };

  const inSavepoint = (job: Job): (() => void) => {
    db.exec('SAVEPOINT job');
    try {
      const acknowledge = job.run();
      db.exec('RELEASE job');
      return acknowledge;
    } catch (error) {
      if (isStoreFailure(error) || !db.isTransaction) throw error;
      db.exec('ROLLBACK TO job; RELEASE job');
      return () => job.fail(FleetError.from(error));
    }
  };

  const damaged = (cause: unknown): FleetError => {
    if (damage) return damage;
    damage = damageError(name, cause);
    problem = damage.message;
    log.error({ err: cause }, `${problem}; nothing is written to it any more`);
    return damage;
  };

  const commit = (batch: readonly Job[]): void => {
    let acknowledgements: (() => void)[];
    try {
      rollback();
      if (damage) throw damage;
      options.assertReady();
      db.exec('BEGIN IMMEDIATE');
      acknowledgements = batch.map(inSavepoint);
      for (const hook of hooks) hook();
      db.exec('COMMIT');
    } catch (error) {
      fail(batch, error);
      return;
    }
    if (problem !== undefined) log.info({}, `the ${name} can write again`);
    problem = undefined;
    for (const acknowledge of acknowledgements) acknowledge();
  };

  /** Sets the problem, and returns the error of the writes that are lost with it. */
  const problemOf = (cause: unknown, transactions: number): FleetError => {
    if (damage || isDamage(cause)) return damaged(cause);
    const reason = cause instanceof Error ? cause.message : String(cause);
    problem = `the ${name} cannot write: ${reason}`;
    log.error({ err: cause, transactions }, `the ${name} cannot write; the batch was rolled back`);
    return new FleetError('STORE_UNAVAILABLE', `${problem}; try again later`, { cause, retryAfterS: 5 });
  };

  const fail = (batch: readonly Job[], cause: unknown): void => {
    const lost = problemOf(cause, batch.length);
    try {
      rollback();
    } catch (error) {
      log.error({ err: error }, 'the rollback failed too; it is tried again before the next batch');
    }
    // The queued jobs fail too: no write may overtake an earlier one.
    for (const job of [...batch, ...queue.splice(0)]) job.fail(lost);
    if (!damage) probeTimer ??= options.clock.timer(probe, PROBE_EVERY_MS);
  };

  const probe = (): void => {
    probeTimer = undefined;
    if (problem === undefined || damage || closed) return;
    commit([{ run: writeProbe, fail: () => undefined }]);
  };

  const writeProbe = (): (() => void) => {
    options.probe();
    return () => undefined;
  };

  const commitNext = (): void => {
    scheduled = false;
    if (queue.length > 0) commit(queue.splice(0, MAX_BATCH));
    schedule();
  };

  const schedule = (): void => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(commitNext);
  };

  const enqueue = <T>(transaction: () => T, onCommitted?: (value: T) => void): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    queue.push({
      run: () => {
        const value = transaction();
        return () => {
          onCommitted?.(value);
          resolve(value);
        };
      },
      fail: reject,
    });
    schedule();
    return promise;
  };

  return {
    write: async (transaction, onCommitted) => {
      if (closed) throw new FleetError('SHUTTING_DOWN', `the ${name} is closed; try again after the restart`);
      if (damage) throw damage;
      if (queue.length >= MAX_QUEUED) {
        const message = `${MAX_QUEUED} writes already wait for the ${name}; try again later`;
        throw new FleetError('STORE_UNAVAILABLE', message, { retryAfterS: 1 });
      }
      return enqueue(transaction, onCommitted);
    },
    problem: () => problem,
    damaged,
    beforeCommit: (hook) => void hooks.push(hook),
    close: () => {
      closed = true;
      while (queue.length > 0) commit(queue.splice(0, MAX_BATCH));
      probeTimer?.[Symbol.dispose]();
    },
  };
}
