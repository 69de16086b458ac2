import type { EngineStore } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';

/**
 * The store of engines, which refuses to save those that were changed in the file: a save would hide the change before the
 * verification of the audit has found it, and an operator has accepted it. Rejects with STORE_UNAVAILABLE.
 */
export function keepingChanged(store: EngineStore, changed: ReadonlySet<string>): EngineStore {
  return {
    lastEntry: (concernId) => store.lastEntry(concernId),
    loadEngine: (concernId) => store.loadEngine(concernId),
    setStatus: (id, status, reason) => store.setStatus(id, status, reason),
    saveEngine: async (concernId, snapshot, entries) => {
      if (!changed.has(concernId)) return store.saveEngine(concernId, snapshot, entries);
      const message = `the stored engine of ${concernId} was changed: accept the audit, or restore a backup`;
      throw new FleetError('STORE_UNAVAILABLE', message, { retryable: false });
    },
  };
}
