import { type Concern, FREE, type Restriction, type Runtime, restrict } from '@hermes-fleet/market';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type { HoldMarks } from './hold-marks.ts';
import type { RetryQueue } from './retry-queue.ts';

/** The holder of restrictions that wait to be written. */
const UNWRITTEN = 'unwritten';

/** A restriction in effect that waits to be written. */
export interface Owed {
  readonly restriction: Restriction;
  /** Writes it into the stored state. It is called until it resolves, and then no more. */
  readonly write: () => Promise<void>;
  /** The decision, if it is one. */
  readonly decision?: {
    readonly id: string;
    readonly fingerprint: string;
    readonly response: ControlResponse;
  };
}

/** Restrictions that are in effect before they can be written (docs/trader.md#a-full-disk). */
export interface Holds {
  /**
   * Puts a restriction into effect in memory, and writes it as soon as that is possible, in the order of the calls. False if
   * a restart before that would not know of it.
   */
  take(concernId: string, owed: Owed): boolean;
  /** True while a restriction waits to be written: no decision of the concern is made until then. */
  isOwed(concernId: string): boolean;
  /** The concern under the restrictions that wait. */
  inEffect(concern: Concern): Concern;
  /** A decision of any concern that waits to be written. */
  decision(id: string): Owed['decision'];
  /** Writes the restrictions that wait; undefined if none does. Rejects while one cannot be written. */
  awaitWritten(concernId: string): Promise<void> | undefined;
}

interface Entry extends Owed {
  isWritten: boolean;
}

export function createHolds(options: {
  runtime: Pick<Runtime, 'hold'>;
  marks: Pick<HoldMarks, 'mark' | 'clear'>;
  retryQueue: RetryQueue;
  /** Brings the engine to the stored state. A hold stays on the engine until that succeeds. */
  activate: (concernId: string) => Promise<void>;
}): Holds {
  const { runtime, marks, retryQueue, activate } = options;
  /** By concern, oldest first. Each restricts more than those before it, so they are few. */
  const entries = new Map<string, Entry[]>();
  const runs = new Map<string, Promise<void>>();
  const keyOf = (concernId: string): string => `write what is in effect at ${concernId}`;
  const waiting = (concernId: string): Entry[] =>
    (entries.get(concernId) ?? []).filter(({ isWritten }) => !isWritten);

  /** Applies the restrictions to the engine and to the marks. */
  const hold = (concernId: string): boolean => {
    const restrictions = (entries.get(concernId) ?? []).map(({ restriction }) => restriction);
    if (restrictions.length === 0) {
      runtime.hold(concernId, UNWRITTEN, undefined);
      marks.clear(concernId, UNWRITTEN);
      return true;
    }
    const { runState, riskMode } = restrictions.reduce(restrict, FREE);
    runtime.hold(concernId, UNWRITTEN, {
      ...(runState === 'paused' && { runState }),
      riskMode,
      reason: 'a decision is in effect that could not be written yet',
    });
    return marks.mark(concernId, UNWRITTEN, riskMode);
  };

  const writeAll = async (concernId: string): Promise<void> => {
    do {
      for (const entry of waiting(concernId)) {
        await entry.write();
        entry.isWritten = true;
      }
      await activate(concernId);
    } while (waiting(concernId).length > 0);
    entries.delete(concernId);
    hold(concernId);
  };

  /** Writes and activates the restrictions of a concern, in one run at a time. */
  const run = async (concernId: string): Promise<void> => {
    while (entries.has(concernId)) {
      const current = runs.get(concernId) ?? writeAll(concernId).finally(() => runs.delete(concernId));
      runs.set(concernId, current);
      await current;
    }
  };

  return {
    take: (concernId, owed) => {
      const all = entries.get(concernId) ?? [];
      entries.set(concernId, all);
      all.push({ ...owed, isWritten: false });
      const isMarked = hold(concernId);
      retryQueue.enqueue(keyOf(concernId), () => run(concernId));
      return isMarked;
    },
    isOwed: (concernId) => waiting(concernId).length > 0,
    inEffect: (concern) =>
      waiting(concern.id).reduce((left, { restriction }) => restrict(left, restriction), concern),
    decision: (id) =>
      [...entries.keys()].flatMap(waiting).find(({ decision }) => decision?.id === id)?.decision,
    awaitWritten: (concernId) =>
      waiting(concernId).length > 0 ? retryQueue.runNow(keyOf(concernId)) : undefined,
  };
}
