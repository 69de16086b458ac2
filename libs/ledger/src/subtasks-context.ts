import { createHmac } from 'node:crypto';
import { type Store, text } from '@hermes-fleet/store';
import type { LedgerContexts } from './context-types.ts';

/** See `LedgerContexts.subtasksContextId`. The ledger's id would not do as the secret: the ids of events contain it. */
export function createSubtasksContexts(store: Pick<Store, 'read'>): LedgerContexts['subtasksContextId'] {
  const row = store.read((db) => db.get("SELECT value FROM meta WHERE key = 'subtasks_secret'"));
  const secret = text(row ?? {}, 'value');
  return (caller, contextId) => {
    const digest = createHmac('sha256', secret)
      .update(JSON.stringify([caller, contextId]))
      .digest('hex');
    return `sub-${digest.slice(0, 32)}`;
  };
}
