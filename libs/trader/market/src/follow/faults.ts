import type { Log } from '@hermes-fleet/protocol/ports';
import type { EngineStore } from '../terms/runtime-port.ts';

const MAX_REASON_CHARS = 500;

/** Counts the errors of strategies and marks those with too many as faulted in the store, until the next start. */
export function createFaults(options: {
  readonly concernId: string;
  /** Consecutive errors that fault a strategy. */
  readonly after: number;
  readonly store: Pick<EngineStore, 'setStatus'>;
  readonly log: Log;
}) {
  const { concernId, after, store, log } = options;
  const reasons = new Map<string, string>();
  const unrecorded = new Set<string>();
  let streak: { readonly strategyId: string; readonly errors: number } | undefined;
  let recording: Promise<void> | undefined;

  async function recordAll(): Promise<void> {
    for (const strategyId of unrecorded) {
      try {
        await store.setStatus(strategyId, 'faulted', reasons.get(strategyId) ?? '');
        unrecorded.delete(strategyId);
      } catch (err) {
        log.error({ concern_id: concernId, strategy_id: strategyId, err }, 'a fault could not be recorded');
      }
    }
    recording = undefined;
  }

  return {
    /** Counts an error; true if it faults the strategy. */
    failed: (strategyId: string, error: Error): boolean => {
      const errors = streak?.strategyId === strategyId ? streak.errors + 1 : 1;
      streak = { strategyId, errors };
      const about = { concern_id: concernId, strategy_id: strategyId, err: error };
      if (errors === 1) log.warn(about, 'a strategy failed; it runs again with the next bar');
      if (errors < after || reasons.has(strategyId)) return false;
      reasons.set(
        strategyId,
        `${errors} errors in a row, the last: ${error.message}`.slice(0, MAX_REASON_CHARS),
      );
      unrecorded.add(strategyId);
      log.error(about, `a strategy is faulted after ${errors} errors in a row; switch to another one`);
      return true;
    },
    /** Resets the count after a bar without an error. */
    succeeded: (): void => {
      streak = undefined;
    },
    reasonOf: (strategyId: string): string | undefined => reasons.get(strategyId),
    /** Writes new faults to the store. Never throws; a failed write is retried by the next call. */
    record: (): void => {
      if (unrecorded.size > 0) recording ??= recordAll();
    },
    /** Resolves when no write is in progress. */
    idle: async (): Promise<void> => recording,
  };
}
