import type { Ledger, NewTask, TaskRecord } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';

/** The largest number of dispatches that are judged or written at the same time. */
const MAX_OPEN = 10_000;

export interface Accepted {
  readonly task: TaskRecord;
  /** False for a known task. */
  readonly created: boolean;
}

interface OpenAcceptance {
  readonly task: Pick<NewTask, 'fingerprint' | 'acceptUntil'>;
  readonly result: Promise<Accepted>;
}

/**
 * Finds the task that a dispatch has made before, and lets the copies of a dispatch that is being accepted share its
 * acceptance (docs/handshake.md#idempotency).
 */
export interface SharedAcceptances {
  /**
   * Returns the known task of the same caller, key and fingerprint, or else the result of `accept`. Throws
   * TASK_ID_CONFLICT for another fingerprint, and the error of the acceptance to all who share it. A copy with a later
   * `acceptUntil` outlives an acceptance that ended DISPATCH_EXPIRED.
   */
  share(task: NewTask, accept: () => Promise<Accepted>): Promise<Accepted>;
  /** The acceptance of a task that is not durable yet. It never rejects. */
  pending(taskId: string): Promise<unknown> | undefined;
  /** Resolves when no acceptance is in progress. */
  idle(): Promise<void>;
}

export function createSharedAcceptances(ledger: Pick<Ledger, 'findByKey'>): SharedAcceptances {
  const byKey = new Map<string, OpenAcceptance>();
  const byId = new Map<string, Promise<unknown>>();

  async function share(task: NewTask, accept: () => Promise<Accepted>): Promise<Accepted> {
    const { caller, key, fingerprint, acceptUntil } = task;
    const name = `${caller.length} ${caller}${key}`;
    for (let first = byKey.get(name); first; first = byKey.get(name)) {
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
    const known = ledger.findByKey(caller, key);
    if (known && known.fingerprint !== fingerprint) throw conflict(key);
    if (known) return { task: known.task, created: false };
    if (byKey.size >= MAX_OPEN)
      throw new FleetError(
        'STORE_UNAVAILABLE',
        `${MAX_OPEN} dispatches are being accepted; try again later`,
        {
          retryAfterS: 1,
        },
      );
    const end = (): void => {
      byKey.delete(name);
      byId.delete(task.id);
    };
    const result = accept().finally(end);
    byKey.set(name, { task, result });
    byId.set(
      task.id,
      result.catch(() => undefined),
    );
    return result;
  }

  return {
    share,
    pending: (taskId) => byId.get(taskId),
    idle: async () => {
      await Promise.all(byId.values());
    },
  };
}

function conflict(key: string): FleetError {
  const reason = `task_id "${key}" was used for another payload; use a new one`;
  return new FleetError('TASK_ID_CONFLICT', reason, { fields: [{ path: 'task.task_id', reason }] });
}
