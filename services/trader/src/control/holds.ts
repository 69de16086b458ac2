import { type Concern, type Runtime, stricter } from '@hermes-fleet/paper';
import type { RiskMode } from '@hermes-fleet/protocol';
import type { HoldMarks, MarkedMode } from './hold-marks.ts';
import type { RetryQueue } from './retry-queue.ts';

/** The holder of decisions that wait to be written. */
const DECISIONS = 'decisions';

/** What a decision takes from a concern. */
export type Taken = Pick<Concern, 'runState' | 'riskMode'>;

/** Decisions that lower risk and are in effect before they can be written (docs/trader.md#a-full-disk). */
export interface Holds {
  /**
   * Puts a decision into effect in memory, and writes it as soon as `write` succeeds. A decision with the same effect as one
   * that waits already is in effect, and is not written. False if a restart before that would not know of it.
   */
  take(concern: Concern, next: Concern, write: () => Promise<void>): boolean;
  /** True while decisions of the concern wait to be written: no other decision is made until then. */
  isOwed(concernId: string): boolean;
  /** Writes what waits; undefined if nothing does. Rejects while it cannot be written. */
  awaitWritten(concernId: string): Promise<void> | undefined;
}

interface Owed {
  readonly taken: Partial<Taken>;
  readonly write: () => Promise<void>;
}

export function createHolds(options: {
  runtime: Pick<Runtime, 'hold'>;
  marks: Pick<HoldMarks, 'mark' | 'clear'>;
  retryQueue: RetryQueue;
}): Holds {
  const { runtime, marks, retryQueue } = options;
  /** By concern and effect: no more than the states that a concern can have. */
  const owed = new Map<string, Map<string, Owed>>();
  const writing = new Map<string, Promise<void>>();
  const keyOf = (concernId: string): string => `write the decisions of ${concernId}`;

  /** Holds the engine to what waits. */
  const hold = (concernId: string): boolean => {
    const waiting = [...(owed.get(concernId)?.values() ?? [])].map(({ taken }) => taken);
    if (waiting.length === 0) {
      runtime.hold(concernId, DECISIONS, undefined);
      marks.clear(concernId, DECISIONS);
      return true;
    }
    const riskMode = waiting.reduce<RiskMode>(
      (least, taken) => stricter(least, taken.riskMode ?? 'normal'),
      'normal',
    );
    runtime.hold(concernId, DECISIONS, {
      ...(waiting.some(({ runState }) => runState === 'paused') && { runState: 'paused' as const }),
      riskMode,
      reason: 'a decision is in effect that could not be written yet',
    });
    return marks.mark(concernId, DECISIONS, markOf(riskMode));
  };

  const writeOldest = async (concernId: string, waiting: Map<string, Owed>): Promise<void> => {
    for (const [effect, { write }] of waiting) {
      await write();
      waiting.delete(effect);
    }
    owed.delete(concernId);
    hold(concernId);
  };

  /** One run at a time writes the decisions of a concern, in their order. */
  const writeAll = async (concernId: string): Promise<void> => {
    for (let waiting = owed.get(concernId); waiting !== undefined; waiting = owed.get(concernId)) {
      const run =
        writing.get(concernId) ?? writeOldest(concernId, waiting).finally(() => writing.delete(concernId));
      writing.set(concernId, run);
      await run;
    }
  };

  return {
    take: (concern, next, write) => {
      const waiting = owed.get(concern.id) ?? new Map<string, Owed>();
      owed.set(concern.id, waiting);
      const effect = `${next.runState} ${next.riskMode}`;
      if (!waiting.has(effect)) waiting.set(effect, { taken: takenBy(concern, next), write });
      const isMarked = hold(concern.id);
      retryQueue.enqueue(keyOf(concern.id), () => writeAll(concern.id));
      return isMarked;
    },
    isOwed: (concernId) => owed.has(concernId),
    awaitWritten: (concernId) => (owed.has(concernId) ? retryQueue.runNow(keyOf(concernId)) : undefined),
  };
}

const takenBy = (concern: Concern, next: Concern): Partial<Taken> => ({
  ...(next.runState !== concern.runState && { runState: next.runState }),
  ...(next.riskMode !== concern.riskMode && { riskMode: next.riskMode }),
});

/** A restart pauses a concern at least, because it does not know what else could not be saved. */
export const markOf = (riskMode: RiskMode): MarkedMode =>
  riskMode === 'reduce_only' || riskMode === 'halted' ? riskMode : 'paused';
