import { FleetError } from '@hermes-fleet/protocol';
import { integer, type Queries, text } from '@hermes-fleet/store';
import { findCallers, findCallersPeers, rememberCallers } from './context-callers.ts';
import { assertMayDelete, findDeletion } from './context-deletions.ts';
import type { ContextDeletion, ContextDeletionRequest, PeerDeletionState } from './context-types.ts';
import { eraseConversations } from './conversations.ts';
import { isKept } from './late-results.ts';
import { removeTasks } from './prune.ts';
import type { Sums } from './sums.ts';
import type { Scope } from './task-writes.ts';

/** How many tasks a refusal names. */
const MAX_NAMED = 10;
const PENDING: PeerDeletionState = 'pending';
const UNSUPPORTED: PeerDeletionState = 'unsupported';

/** The transaction of `LedgerContexts.delete`, and the ids of the tasks that it erased. */
export function eraseContext(
  db: Queries,
  { clock, sums, writes }: Scope,
  request: ContextDeletionRequest,
): { readonly deletion: ContextDeletion; readonly erased: readonly string[] } {
  const { contextId, caller, results } = request;
  const begun = findDeletion(db, contextId);
  if (begun?.caller === caller) return { deletion: begunAgain(db, begun, results), erased: [] };
  // A refusal comes before the first write: it fails no other transaction of its batch (see `GroupCommit.write`).
  const tasks = db.all(
    'SELECT n, id, caller FROM tasks WHERE context_id = ? ORDER BY created_at, id',
    contextId,
  );
  const own = tasks.filter((task) => task.caller === caller);
  const remembered = findCallers(db, contextId);
  if (own.length === 0 && !remembered.includes(caller)) throw unknownContext(contextId);
  if (own.length < tasks.length || remembered.some((other) => other !== caller)) throw shared(contextId);
  const ids = own.map((task) => text(task, 'id'));
  const unfinished = ids.filter((id) => writes.findTask(db, id)?.unfinished !== undefined);
  if (unfinished.length > 0)
    throw inUse(contextId, unfinished, 'cancel them, and wait until they have ended');
  const givenUp = ids.filter((id) => isKept(db, id));
  if (givenUp.length > 0)
    throw inUse(
      contextId,
      givenUp,
      'a peer may still be doing them: wait until it has answered, a day at most',
    );
  assertMayDelete(db, caller);
  writes.flush(db);
  rememberCallers(db, clock.now(), 't.context_id = ?1', contextId);
  db.insert('context_deletions', {
    context_id: contextId,
    caller,
    asked_at: clock.now(),
    results,
    tasks: ids.length,
  });
  for (const { peer, kind, contextId: at = contextId } of findCallersPeers(db, contextId, caller)) {
    const work = { context_id: contextId, peer, peer_context_id: at };
    if (kind !== 'message') db.insert('context_deletion_peers', { ...work, is_agent: 0, state: PENDING });
    else {
      const detail = `${peer} got messages over A2A, which has no deletion: have its operator delete this context`;
      db.insert('context_deletion_peers', { ...work, is_agent: 1, state: UNSUPPORTED, detail });
    }
  }
  erase(db, sums, contextId, JSON.stringify(own.map((task) => integer(task, 'n'))));
  writes.removed(ids);
  const deletion = findDeletion(db, contextId);
  if (!deletion) throw new FleetError('INTERNAL', `the deletion of context ${contextId} is lost`);
  return { deletion, erased: ids };
}

/** A caller that asks again may ask for more. */
function begunAgain(
  db: Queries,
  begun: ContextDeletion,
  results: ContextDeletionRequest['results'],
): ContextDeletion {
  if (begun.results === results || results === 'keep') return begun;
  const { contextId } = begun;
  db.run(
    `UPDATE context_deletions SET results = ?, had_files = NULL, result = NULL WHERE context_id = ?`,
    results,
    contextId,
  );
  db.run(
    'UPDATE context_deletion_peers SET state = ?, detail = NULL WHERE context_id = ? AND is_agent = 0',
    PENDING,
    contextId,
  );
  return findDeletion(db, contextId) ?? begun;
}

/** Erases the tasks of a context, whose numbers are a JSON list. */
function erase(db: Queries, sums: Sums, contextId: string, numbers: string): void {
  db.run(
    `INSERT INTO erased_events (seq, task_id, type, at, data, key, caller, context_id, traceparent, lineage)
     SELECT e.seq, t.id, e.type, e.at, e.data, t.key, t.caller, t.context_id, t.traceparent, l.fields
     FROM tasks t JOIN events e ON e.task = t.n LEFT JOIN lineages l ON l.task = t.n
     WHERE t.context_id = ? AND e.type <> 'text' AND e.seq > (SELECT cursor FROM outbox)`,
    contextId,
  );
  removeTasks(db, sums, numbers);
  eraseConversations(db, contextId);
}

/** Also for a context of others, whose existence is not told. */
function unknownContext(contextId: string): FleetError {
  return new FleetError('TASK_NOT_FOUND', `context ${contextId} is not known`);
}

function shared(contextId: string): FleetError {
  return new FleetError(
    'CONTEXT_SHARED',
    `context ${contextId} has tasks of another caller too, or had: only the retention removes it`,
  );
}

function inUse(contextId: string, tasks: readonly string[], advice: string): FleetError {
  const more = tasks.length > MAX_NAMED ? ` and ${tasks.length - MAX_NAMED} more` : '';
  const named = `${tasks.slice(0, MAX_NAMED).join(', ')}${more}`;
  return new FleetError('CONTEXT_IN_USE', `context ${contextId} has unfinished tasks (${named}): ${advice}`);
}
