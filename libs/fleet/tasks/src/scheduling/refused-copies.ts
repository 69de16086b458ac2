import type { NewTask } from '@hermes-fleet/ledger';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** How long a refusal is remembered for copies that may still be under way, ms. */
const LONGEST_MS = 300_000;
const MAX_REFUSALS = 10_000;

type Dispatch = Pick<NewTask, 'caller' | 'key' | 'fingerprint' | 'acceptUntil'>;

/**
 * The dispatches that were refused a short time ago. A copy of one that was under way is not judged again: its sender may
 * have sent the task elsewhere (docs/handshake.md#idempotency). It is known by its `accept_until`, which is later in every new
 * attempt.
 */
export interface RefusedCopies {
  /** The ID of the refused task of which this dispatch is a copy. */
  find(dispatch: Dispatch): string | undefined;
  /** Remembers a refused task, if it has an `accept_until`. */
  add(dispatch: Dispatch, taskId: string): void;
}

interface Refusal {
  readonly taskId: string;
  readonly fingerprint: string;
  readonly acceptUntil: number;
  readonly forgetAt: number;
}

export function createRefusedCopies(clock: Pick<Clock, 'now'>): RefusedCopies {
  /** In the order in which they were refused. */
  const refusals = new Map<string, Refusal>();
  const nameOf = ({ caller, key }: Dispatch): string => `${caller.length} ${caller}${key}`;
  return {
    find(dispatch) {
      const { fingerprint, acceptUntil } = dispatch;
      const refusal = refusals.get(nameOf(dispatch));
      if (!refusal || acceptUntil === undefined || clock.now() >= refusal.forgetAt) return undefined;
      return refusal.fingerprint === fingerprint && acceptUntil <= refusal.acceptUntil
        ? refusal.taskId
        : undefined;
    },
    add(dispatch, taskId) {
      const { fingerprint, acceptUntil } = dispatch;
      if (acceptUntil === undefined) return;
      const now = clock.now();
      const name = nameOf(dispatch);
      refusals.delete(name);
      refusals.set(name, {
        taskId,
        fingerprint,
        acceptUntil,
        forgetAt: Math.min(acceptUntil, now + LONGEST_MS),
      });
      for (const [first, { forgetAt }] of refusals) {
        if (forgetAt > now && refusals.size <= MAX_REFUSALS) break;
        refusals.delete(first);
      }
    },
  };
}
