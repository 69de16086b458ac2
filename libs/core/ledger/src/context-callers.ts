import { type Queries, text } from '@hermes-fleet/store';
import type { Forgettable, RememberedContext, SentWork } from './context-types.ts';
import { sentWork, sentWorkQuery } from './sent-work.ts';

/*
 * The callers of contexts whose tasks are removed, and the peers that did work of these tasks. A result may outlive the
 * tasks, here and at the peers, and its caller can still delete it (docs/operations.md#delete-a-context).
 */

/** A caller with a conversation stays, so that it can delete the context. */
const MAY_GO = `NOT EXISTS (
  SELECT 1 FROM conversations v WHERE v.context_id = c.context_id AND v.caller = c.caller)
  AND c.remembered_at < ? AND (c.remembered_at < ? OR NOT EXISTS (
  SELECT 1 FROM context_caller_peers p
  WHERE p.context_id = c.context_id AND p.caller = c.caller AND p.kind <> 'message'))`;

/**
 * Remembers the callers and peers of tasks `t` that are about to be removed. `condition` selects the tasks; its parameter `?1` is
 * `value`. Peers are remembered with every removed task, because the tasks of a context are not removed together.
 */
export function rememberCallers(db: Queries, now: number, condition: string, value: string): void {
  db.run(
    `INSERT INTO context_callers (context_id, caller, remembered_at)
     SELECT DISTINCT t.context_id, t.caller, ?2 FROM tasks t WHERE ${condition}
     ON CONFLICT (context_id, caller) DO UPDATE SET remembered_at = excluded.remembered_at`,
    value,
    now,
  );
  db.run(
    `INSERT OR IGNORE INTO context_caller_peers (context_id, caller, peer, kind, peer_context_id) ${sentWorkQuery(condition)}`,
    value,
  );
}

/** The callers that a context is remembered for. */
export function findCallers(db: Queries, contextId: string): string[] {
  const rows = db.all('SELECT caller FROM context_callers WHERE context_id = ?', contextId);
  return rows.map((row) => text(row, 'caller'));
}

export function findCallersPeers(db: Queries, contextId: string, caller: string): SentWork[] {
  return db
    .all(
      'SELECT peer, kind, peer_context_id FROM context_caller_peers WHERE context_id = ? AND caller = ?',
      contextId,
      caller,
    )
    .map(sentWork);
}

/** Forgets the callers of a context of which nothing is left here; with `peers`, nothing is left at peers either. */
export function forgetCallersOf(db: Queries, contextId: string, o: { readonly peers: boolean }): void {
  if (o.peers) db.run('DELETE FROM context_callers WHERE context_id = ?', contextId);
  else forgetCallers(db, [contextId], { before: Number.MAX_SAFE_INTEGER });
}

/** See `LedgerContexts.remembered`. */
export function findRemembered(
  db: Queries,
  after: string,
  limit: number,
  { before, peersBefore = 0 }: Forgettable,
): RememberedContext[] {
  return db
    .all(
      `SELECT c.context_id, max(${MAY_GO}) AS may_go FROM context_callers c
       WHERE c.context_id > ? GROUP BY c.context_id ORDER BY c.context_id LIMIT ?`,
      before,
      peersBefore,
      after,
      limit,
    )
    .map((row) => ({ contextId: text(row, 'context_id'), mayGo: row.may_go === 1 }));
}

/** The transaction of `LedgerContexts.forget`. Rows of peers go by foreign keys. */
export function forgetCallers(
  db: Queries,
  contextIds: readonly string[],
  { before, peersBefore = 0 }: Forgettable,
): number {
  return db.run(
    `DELETE FROM context_callers AS c WHERE c.context_id IN (SELECT value FROM json_each(?)) AND ${MAY_GO}`,
    JSON.stringify(contextIds),
    before,
    peersBefore,
  ).changes;
}
