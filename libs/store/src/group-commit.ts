import type { DatabaseSync } from 'node:sqlite';
import { type Clock, FleetError, type Log } from '@hermes-fleet/protocol';
import { isStoreFailure } from './errors.ts';

const MAX_BATCH = 512;
const MAX_QUEUED = 20_000;
const PROBE_EVERY_MS = 5000;

interface Job {
  /** Runs the transaction; the returned function acknowledges it, and is called once it is committed. */
  run(): () => void;
  fail(error: FleetError): void;
}

export interface GroupCommit {
  /**
   * Runs a synchronous transaction in the next batch, in its own savepoint; resolves with its value after COMMIT.
   * What it throws rolls back itself alone. STORE_UNAVAILABLE: the batch could not be committed, nothing of it is
   * there, nor of what was queued behind it. `onCommitted` is called after COMMIT and before anybody can see the promise resolve.
   */
  write<T>(transaction: () => T, onCommitted?: (value: T) => void): Promise<T>;
  /** Why the last batch could not be committed; undefined again as soon as one could. */
  problem(): string | undefined;
  /** Commits what is queued, at once; later writes are refused with SHUTTING_DOWN. */
  close(): void;
}

/**
 * Batches the transactions of one turn of the event loop into one COMMIT (design 1, Decisions). A batch runs without
 * a pause, so nobody sees it half done. After a failure it tries by itself to write, every five seconds, so that a
 * service out of rotation because of a full disk comes back without traffic.
 */
export function createGroupCommit(o: {
  /** For messages. */
  name: string;
  db: DatabaseSync;
  clock: Clock;
  log: Log;
  /** Called before each batch, which what it throws fails. */
  ready: () => void;
  probe: () => void;
}): GroupCommit {
  const { db, log } = o;
  const queue: Job[] = [];
  let scheduled = false;
  let closed = false;
  let problem: string | undefined;
  let probeTimer: Disposable | undefined;

  const rollback = (): void => {
    if (db.isTransaction) db.exec('ROLLBACK');
  };

  const inSavepoint = (job: Job): (() => void) => {
    db.exec('SAVEPOINT one');
    try {
      const acknowledge = job.run();
      db.exec('RELEASE one');
      return acknowledge;
    } catch (error) {
      if (isStoreFailure(error) || !db.isTransaction) throw error;
      db.exec('ROLLBACK TO one; RELEASE one');
      return () => job.fail(FleetError.from(error));
    }
  };

  const commit = (batch: readonly Job[]): void => {
    let acknowledgements: (() => void)[];
    try {
      rollback();
      o.ready();
      db.exec('BEGIN IMMEDIATE');
      acknowledgements = batch.map(inSavepoint);
      db.exec('COMMIT');
    } catch (error) {
      failed(batch, error);
      return;
    }
    if (problem !== undefined) log.info({}, `the ${o.name} can write again`);
    problem = undefined;
    for (const acknowledge of acknowledgements) acknowledge();
  };

  const failed = (batch: readonly Job[], cause: unknown): void => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    problem = `the ${o.name} cannot write: ${reason}`;
    log.error(
      { err: cause, transactions: batch.length },
      `the ${o.name} cannot write; the batch was rolled back`,
    );
    try {
      rollback();
    } catch (error) {
      log.error({ err: error }, 'the rollback failed too; it is tried again before the next batch');
    }
    // Those that wait behind it too: nothing overtakes what was asked for before it.
    for (const job of [...batch, ...queue.splice(0)]) {
      job.fail(new FleetError('STORE_UNAVAILABLE', `${problem}; try again later`, { cause, retryAfterS: 5 }));
    }
    probeTimer ??= o.clock.timer(probe, PROBE_EVERY_MS);
  };

  const probe = (): void => {
    probeTimer = undefined;
    if (problem === undefined || closed) return;
    commit([{ run: writeProbe, fail: () => undefined }]);
  };

  const writeProbe = (): (() => void) => {
    o.probe();
    return () => undefined;
  };

  const tick = (): void => {
    scheduled = false;
    if (queue.length > 0) commit(queue.splice(0, MAX_BATCH));
    schedule();
  };

  const schedule = (): void => {
    if (scheduled || queue.length === 0) return;
    scheduled = true;
    setImmediate(tick);
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
      if (closed)
        throw new FleetError('SHUTTING_DOWN', `the ${o.name} is closed; ask again after the restart`);
      if (queue.length >= MAX_QUEUED) {
        const message = `${MAX_QUEUED} writes wait for the ${o.name} already; try again later`;
        throw new FleetError('STORE_UNAVAILABLE', message, { retryAfterS: 1 });
      }
      return enqueue(transaction, onCommitted);
    },
    problem: () => problem,
    close: () => {
      closed = true;
      while (queue.length > 0) commit(queue.splice(0, MAX_BATCH));
      probeTimer?.[Symbol.dispose]();
    },
  };
}
