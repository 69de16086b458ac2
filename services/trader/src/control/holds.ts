import { type Concern, type Runtime, stricter } from '@hermes-fleet/paper';
import type { ControlResponse, RiskMode } from '@hermes-fleet/protocol';
import type { HoldMarks, MarkedMode } from './hold-marks.ts';
import type { RetryQueue } from './retry-queue.ts';

/** The holder of restrictions that wait to be written. */
const UNWRITTEN = 'unwritten';

/** A restriction of a concern. */
export interface Taken {
  readonly runState?: 'paused';
  readonly riskMode?: RiskMode;
}

/** A restriction in effect that waits to be written. */
export interface Owed {
  readonly taken: Taken;
  /** Writes it. What it wrote is in effect by itself when it resolves. */
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

export function createHolds(options: {
  runtime: Pick<Runtime, 'hold'>;
  marks: Pick<HoldMarks, 'mark' | 'clear'>;
  retryQueue: RetryQueue;
}): Holds {
  const { runtime, marks, retryQueue } = options;
  /** By concern, oldest first. Each restricts more than those before it, so they are few. */
  const owed = new Map<string, Owed[]>();
  const writing = new Map<string, Promise<void>>();
  const keyOf = (concernId: string): string => `write what is in effect at ${concernId}`;

  const takenFrom = (concernId: string): Taken => {
    const all = (owed.get(concernId) ?? []).map(({ taken }) => taken);
    const riskMode = all.reduce<RiskMode>(
      (least, taken) => stricter(least, taken.riskMode ?? 'normal'),
      'normal',
    );
    return { riskMode, ...(all.some(({ runState }) => runState === 'paused') && { runState: 'paused' }) };
  };

  /** Applies the restrictions that wait to the engine and to the marks. */
  const hold = (concernId: string): boolean => {
    if (!owed.has(concernId)) {
      runtime.hold(concernId, UNWRITTEN, undefined);
      marks.clear(concernId, UNWRITTEN);
      return true;
    }
    const taken = takenFrom(concernId);
    const reason = 'a decision is in effect that could not be written yet';
    runtime.hold(concernId, UNWRITTEN, { ...taken, reason });
    return marks.mark(concernId, UNWRITTEN, markOf(taken.riskMode));
  };

  const writeInOrder = async (concernId: string, waiting: Owed[]): Promise<void> => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      await next.write();
      waiting.shift();
    }
    owed.delete(concernId);
    hold(concernId);
  };

  /** Writes the restrictions of a concern, in one run at a time. */
  const writeAll = async (concernId: string): Promise<void> => {
    for (let waiting = owed.get(concernId); waiting !== undefined; waiting = owed.get(concernId)) {
      const run =
        writing.get(concernId) ?? writeInOrder(concernId, waiting).finally(() => writing.delete(concernId));
      writing.set(concernId, run);
      await run;
    }
  };

  return {
    take: (concernId, taken) => {
      const waiting = owed.get(concernId) ?? [];
      owed.set(concernId, waiting);
      waiting.push(taken);
      const isMarked = hold(concernId);
      retryQueue.enqueue(keyOf(concernId), () => writeAll(concernId));
      return isMarked;
    },
    isOwed: (concernId) => owed.has(concernId),
    inEffect: (concern) => {
      const { runState = concern.runState, riskMode = 'normal' } = takenFrom(concern.id);
      return { ...concern, runState, riskMode: stricter(concern.riskMode, riskMode) };
    },
    decision: (id) =>
      owed
        .values()
        .flatMap((waiting) => waiting.values())
        .find(({ decision }) => decision?.id === id)?.decision,
    awaitWritten: (concernId) => (owed.has(concernId) ? retryQueue.runNow(keyOf(concernId)) : undefined),
  };
}

/** A restart pauses a concern at least, because it does not know what else could not be saved. */
const markOf = (riskMode: RiskMode = 'normal'): MarkedMode => (riskMode === 'normal' ? 'paused' : riskMode);
