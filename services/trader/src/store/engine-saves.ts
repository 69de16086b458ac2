import type { EngineStore } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import type { HoldMarks } from '../control/unwritten-restrictions.ts';

/**
 * The store of engines, which refuses to save those that were changed in the file: a save would hide the change before the
 * verification of the audit has found it, and an operator has accepted it. Rejects with STORE_UNAVAILABLE.
 */
export function keepingChanged(store: EngineStore, changed: ReadonlySet<string>): EngineStore {
  return {
    ...store,
    saveEngine: async (concernId, snapshot, entries) => {
      if (!changed.has(concernId)) return store.saveEngine(concernId, snapshot, entries);
      const message = `the stored engine of ${concernId} was changed: accept the audit, or restore a backup`;
      throw new FleetError('STORE_UNAVAILABLE', message, { retryable: false });
    },
  };
}

/** The holder of an engine that is not saved. */
const ENGINE = 'engine';

/** The store of engines, which marks a concern while its engine cannot be saved. */
export const markingSaves = (store: EngineStore, marks: Pick<HoldMarks, 'mark' | 'clear'>): EngineStore => ({
  ...store,
  saveEngine: async (concernId, snapshot, entries) => {
    try {
      await store.saveEngine(concernId, snapshot, entries);
      marks.clear(concernId, ENGINE);
    } catch (error) {
      marks.mark(concernId, ENGINE, 'normal');
      throw error;
    }
  },
});
