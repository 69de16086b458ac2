import { createHmac } from 'node:crypto';
import { type Store, text } from '@hermes-fleet/store';
import type { LedgerContexts } from './context-types.ts';

const FORM = /^sub-([0-9a-f]{32})([0-9a-f]{8})$/;

/**
 * The names of the contexts of subtasks, and other names that need a secret: a digest, and a check value by which the ledger knows its own. The ledger's id would
 * not do as the secret: the ids of events contain it.
 */
export function createSubtasksContexts(
  store: Pick<Store, 'read'>,
): Pick<
  LedgerContexts,
  'subtasksContextId' | 'isSubtasksContextId' | 'conversationName' | 'repositoryToken'
> {
  const row = store.read((db) => db.get("SELECT value FROM meta WHERE key = 'subtasks_secret'"));
  const secret = text(row ?? {}, 'value');
  const hmac = (data: string): string => createHmac('sha256', secret).update(data).digest('hex');
  const check = (digest: string): string => hmac(digest).slice(0, 8);
  return {
    subtasksContextId(caller, contextId, repository) {
      const named = repository === undefined ? [caller, contextId] : [caller, contextId, repository];
      const digest = hmac(JSON.stringify(named)).slice(0, 32);
      return `sub-${digest}${check(digest)}`;
    },
    conversationName: (caller, contextId, given = '') =>
      hmac(JSON.stringify(['conversation', caller, contextId, given])).slice(0, 32),
    // Of another length than the lists above: parts of their digests are told.
    repositoryToken: (taskId) => hmac(JSON.stringify(['repository', 'token', taskId])),
    isSubtasksContextId(contextId) {
      const [, digest = '', value] = FORM.exec(contextId) ?? [];
      return value === check(digest);
    },
  };
}
