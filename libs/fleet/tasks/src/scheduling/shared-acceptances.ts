import { conflictOf, type NewTask, type TaskRecord } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** The largest number of dispatches that are judged or written at the same time. */
const MAX_OPEN = 10_000;

export interface Accepted<T = TaskRecord> {
  readonly task: T;
  /** False for a known task. */
  readonly created: boolean;
}

type Dispatch = Pick<NewTask, 'id' | 'caller' | 'key' | 'fingerprint' | 'acceptUntil'>;

const nameOf = ({ caller, key }: Dispatch): string => `${caller.length} ${caller}${key}`;

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
export function createSharedAcceptances<T extends { readonly id: string; readonly state: string }>(
  tasks: KnownTasks<T>,
  clock: Pick<Clock, 'now'>,
) {
  const open = new Map<string, OpenAcceptance<T>>();
  const refused = createRefusedCopies(clock);

  /**
   * Returns the known task of the same caller, key and fingerprint, or the refused one of which this is a copy that was under
   * way, or else the result of `accept`. Throws TASK_ID_CONFLICT for another fingerprint, and the error of the acceptance to
   * all who share it. A copy with a later `acceptUntil` outlives an acceptance that ended DISPATCH_EXPIRED.
   */
  async function share(task: Dispatch, accept: () => Promise<Accepted<T>>): Promise<Accepted<T>> {
    const { caller, key, fingerprint, acceptUntil } = task;
    const name = nameOf(task);
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
    const refusedId = refused.originalOf(task);
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
    /** Resolves when it is decided whether a task is stored. */
    async pending(taskId: string): Promise<void> {
      for (const { task, result } of open.values())
        if (task.id === taskId) await Promise.allSettled([result]);
    },
    /** Resolves when no acceptance is in progress. */
    async idle(): Promise<void> {
      await Promise.allSettled(Array.from(open.values(), ({ result }) => result));
    },
  };
}

/** How long a refusal is remembered for copies that may still be under way, ms. */
const LONGEST_MS = 300_000;
const MAX_REFUSALS = 10_000;

/**
 * The dispatches that were refused a short time ago. A copy of one that was under way is not judged again: its sender may
 * have sent the task elsewhere. It is known by its `accept_until`, which is later in every new attempt.
 */
function createRefusedCopies(clock: Pick<Clock, 'now'>) {
  /** In the order in which they were refused. */
  const refusals = new Map<
    string,
    { taskId: string; fingerprint: string; acceptUntil: number; forgetAt: number }
  >();
  return {
    /** The ID of the refused task of which this dispatch is a copy. */
    originalOf(dispatch: Dispatch): string | undefined {
      const { fingerprint, acceptUntil } = dispatch;
      const refusal = refusals.get(nameOf(dispatch));
      if (!refusal || acceptUntil === undefined || clock.now() >= refusal.forgetAt) return undefined;
      return refusal.fingerprint === fingerprint && acceptUntil <= refusal.acceptUntil
        ? refusal.taskId
        : undefined;
    },
    /** Remembers a refused task, if it has an `accept_until`. */
    add(dispatch: Dispatch, taskId: string): void {
      const { fingerprint, acceptUntil } = dispatch;
      if (acceptUntil === undefined) return;
      const now = clock.now();
      const name = nameOf(dispatch);
      const forgetAt = Math.min(acceptUntil, now + LONGEST_MS);
      refusals.delete(name);
      refusals.set(name, { taskId, fingerprint, acceptUntil, forgetAt });
      for (const [first, { forgetAt: at }] of refusals) {
        if (at > now && refusals.size <= MAX_REFUSALS) break;
        refusals.delete(first);
      }
    },
  };
}
