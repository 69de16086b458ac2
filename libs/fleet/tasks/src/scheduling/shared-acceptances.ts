import { conflictOf, type NewTask, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { createRefusedCopies } from './refused-copies.ts';

/** The largest number of dispatches that are judged or written at the same time. */
const MAX_OPEN = 10_000;

export interface Accepted<T = TaskRecord> {
  readonly task: T;
  /** False for a known task. */
  readonly created: boolean;
}

type Dispatch = Pick<NewTask, 'id' | 'caller' | 'key' | 'fingerprint' | 'acceptUntil'>;

interface OpenAcceptance<T> {
  readonly task: Dispatch;
  readonly result: Promise<Accepted<T>>;
}

/** Where the tasks of earlier dispatches are found; the ledger. */
export interface KnownTasks<T> {
  findByKey(caller: string, key: string): { readonly task: T; readonly fingerprint: string } | undefined;
  get(taskId: string): T | undefined;
}

/**
 * Finds the task that a dispatch has made before, and lets the copies of a dispatch that is being accepted share its
 * acceptance (docs/handshake.md#idempotency).
 */
export interface SharedAcceptances<T = TaskRecord> {
  /**
   * Returns the known task of the same caller, key and fingerprint, or the refused one of which this is a copy that was under
   * way, or else the result of `accept`. Throws
   * TASK_ID_CONFLICT for another fingerprint, and the error of the acceptance to all who share it. A copy with a later
   * `acceptUntil` outlives an acceptance that ended DISPATCH_EXPIRED.
   */
  share(task: Dispatch, accept: () => Promise<Accepted<T>>): Promise<Accepted<T>>;
  /** Resolves when it is decided whether a task is stored. */
  pending(taskId: string): Promise<void>;
  /** Resolves when no acceptance is in progress. */
  idle(): Promise<void>;
}

export function createSharedAcceptances<T extends { readonly id: string; readonly state: string }>(
  tasks: KnownTasks<T>,
  clock: Pick<Clock, 'now'>,
): SharedAcceptances<T> {
  const open = new Map<string, OpenAcceptance<T>>();
  const refused = createRefusedCopies(clock);

  async function share(task: Dispatch, accept: () => Promise<Accepted<T>>): Promise<Accepted<T>> {
    const { caller, key, fingerprint, acceptUntil } = task;
    const name = `${caller.length} ${caller}${key}`;
    for (let first = open.get(name); first; first = open.get(name)) {
      const isCopy = first.task.fingerprint === fingerprint;
      try {
        const accepted = await first.result;
        if (isCopy) return { ...accepted, created: false };
      } catch (error) {
        const isLonger = acceptUntil !== first.task.acceptUntil;
        const isExpired = error instanceof FleetError && error.code === 'DISPATCH_EXPIRED';
        if (isCopy && !(isExpired && isLonger)) throw error;
      }
    }
    const known = tasks.findByKey(caller, key);
    if (known && known.fingerprint !== fingerprint) throw conflictOf(key);
    if (known) return { task: known.task, created: false };
    const refusedId = refused.find(task);
    const copied = refusedId === undefined ? undefined : tasks.get(refusedId);
    if (copied) return { task: copied, created: false };
    if (open.size >= MAX_OPEN)
      throw new FleetError(
        'STORE_UNAVAILABLE',
        `${MAX_OPEN} dispatches are being accepted; try again later`,
        {
          retryAfterS: 1,
        },
      );
    const result = accept().then((accepted) => {
      if (accepted.created && accepted.task.state === 'rejected') refused.add(task, accepted.task.id);
      return accepted;
    });
    open.set(name, { task, result });
    // It ends before those who share it go on.
    const end = (): void => void open.delete(name);
    result.then(end, end);
    return await result;
  }

  return {
    share,
    async pending(taskId) {
      for (const { task, result } of open.values())
        if (task.id === taskId) await Promise.allSettled([result]);
    },
    async idle() {
      await Promise.allSettled(Array.from(open.values(), ({ result }) => result));
    },
  };
}
