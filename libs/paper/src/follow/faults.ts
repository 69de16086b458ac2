import type { Log } from '@hermes-fleet/protocol';
import type { EngineStore } from '../market/runtime-port.ts';

export interface FaultsOptions {
  readonly concernId: string;
  /** Errors in a row that fault a strategy. */
  readonly after: number;
  readonly store: Pick<EngineStore, 'setStatus'>;
  readonly log: Log;
}

/** Strategies that fail and fail: once too often, and the store says that they are faulted, until the next start. */
export interface Faults {
  /** One more error of a strategy; true where it is the one too many. */
  failed(strategyId: string, error: Error): boolean;
  /** A bar without an error. */
  succeeded(): void;
  reasonOf(strategyId: string): string | undefined;
  /** Tells the store what it does not know yet. Never throws; what failed is tried again with the next call. */
  record(): void;
  /** Resolves when nothing is on its way to the store. */
  idle(): Promise<void>;
}

const MAX_REASON_CHARS = 500;

export function createFaults({ concernId, after, store, log }: FaultsOptions): Faults {
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
    failed: (strategyId, error) => {
      const errors = streak?.strategyId === strategyId ? streak.errors + 1 : 1;
      streak = { strategyId, errors };
      const about = { concern_id: concernId, strategy_id: strategyId, err: error };
      if (errors === 1) log.warn(about, 'a strategy failed; it is asked again with the next bar');
      if (errors < after || reasons.has(strategyId)) return false;
      reasons.set(
        strategyId,
        `${errors} errors in a row, the last: ${error.message}`.slice(0, MAX_REASON_CHARS),
      );
      unrecorded.add(strategyId);
      log.error(about, `a strategy is faulted after ${errors} errors in a row; switch to another one`);
      return true;
    },
    succeeded: () => {
      streak = undefined;
    },
    reasonOf: (strategyId) => reasons.get(strategyId),
    record: () => {
      if (unrecorded.size > 0) recording ??= recordAll();
    },
    idle: async () => recording,
  };
}
