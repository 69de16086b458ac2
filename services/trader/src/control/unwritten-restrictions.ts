import { type Concern, FREE, type Restriction, type Runtime, restrict } from '@hermes-fleet/market';
import type { ControlResponse, RiskMode } from '@hermes-fleet/protocol/control';
import type { RetryQueue } from './retry-queue.ts';

/**
 * Marks that outlast a restart: the concern must start paused, and in this risk mode at most, because its last state could
 * not be saved.
 */
export interface HoldMarks {
  /** The strictest mode that an earlier process marked and that is not taken back; undefined without a mark. */
  found(concernId: string): RiskMode | undefined;
  /** Marks for a holder. False, with a log line, if the mark cannot be made: a restart would not know. */
  mark(concernId: string, holder: string, mode: RiskMode): boolean;
  /** Takes the marks of a holder back. They stay while another holder is left; if that fails, the next call tries again. */
  clear(concernId: string, holder: string): void;
}

/** Marks that are neither kept nor found. */
export const NO_MARKS: HoldMarks = { found: () => undefined, mark: () => true, clear: () => undefined };

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

interface Entry extends Owed {
  isWritten: boolean;
}

export type Holds = ReturnType<typeof createHolds>;

/** Restrictions that are in effect before they can be written (docs/trader.md#a-full-disk). */
export function createHolds(options: {
  runtime: Pick<Runtime, 'setHold'>;
  marks: Pick<HoldMarks, 'mark' | 'clear'>;
  retryQueue: RetryQueue;
  /** Brings the engine to the stored state. A hold stays on the engine until that succeeds. */
  activate: (concernId: string) => Promise<void>;
}) {
  const { runtime, marks, retryQueue, activate } = options;
  /** By concern, oldest first. Each restricts more than those before it, so they are few. */
  const entries = new Map<string, Entry[]>();
  const runs = new Map<string, Promise<void>>();
  const keyOf = (concernId: string): string => `write what is in effect at ${concernId}`;
  const waiting = (concernId: string): Entry[] =>
    (entries.get(concernId) ?? []).filter(({ isWritten }) => !isWritten);

  /** Applies the restrictions to the engine and to the marks. */
  const restrictEngine = (concernId: string): boolean => {
    const restrictions = (entries.get(concernId) ?? []).map(({ restriction }) => restriction);
    if (restrictions.length === 0) {
      runtime.setHold(concernId, UNWRITTEN, undefined);
      marks.clear(concernId, UNWRITTEN);
      return true;
    }
    const { runState, riskMode } = restrictions.reduce(restrict, FREE);
    runtime.setHold(concernId, UNWRITTEN, {
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
    restrictEngine(concernId);
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
    /**
     * Puts a restriction into effect in memory, and writes it as soon as that is possible, in the order of the calls. False if
     * a restart before that would not know of it.
     */
    takeEffect: (concernId: string, owed: Owed): boolean => {
      const all = entries.get(concernId) ?? [];
      entries.set(concernId, all);
      all.push({ ...owed, isWritten: false });
      const isMarked = restrictEngine(concernId);
      retryQueue.enqueue(keyOf(concernId), () => run(concernId));
      return isMarked;
    },
    /** True while a restriction waits to be written: no decision of the concern is made until then. */
    isOwed: (concernId: string): boolean => waiting(concernId).length > 0,
    /** The concern under the restrictions that wait. */
    inEffect: (concern: Concern): Concern =>
      waiting(concern.id).reduce((left, { restriction }) => restrict(left, restriction), concern),
    /** A decision of any concern that waits to be written. */
    decision: (id: string): Owed['decision'] =>
      [...entries.keys()].flatMap(waiting).find(({ decision }) => decision?.id === id)?.decision,
    /** Writes the restrictions that wait; undefined if none does. Rejects while one cannot be written. */
    awaitWritten: (concernId: string): Promise<void> | undefined =>
      waiting(concernId).length > 0 ? retryQueue.runNow(keyOf(concernId)) : undefined,
  };
}
