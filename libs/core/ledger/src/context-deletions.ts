import { FleetError } from '@hermes-fleet/protocol';
import { integer, numberOf, oneOf, type Queries, type Row, text } from '@hermes-fleet/store';
import { forgetCallersOf } from './context-callers.ts';
import type {
  ContextDeletion,
  ContextDeletionProgress,
  PeerDeletion,
  PeerDeletionState,
  RemovedFiles,
  ResultsMode,
} from './context-types.ts';

const MODES: Readonly<Record<ResultsMode, true>> = { keep: true, delete: true };
const RESULTS: Readonly<Record<RemovedFiles['result'], true>> = {
  none: true,
  merged: true,
  kept: true,
  deleted: true,
};
const STATES: Readonly<Record<PeerDeletionState, true>> = {
  pending: true,
  deleted: true,
  unsupported: true,
  refused: true,
};
/** Seconds after which a task or a deletion that was refused is sent again. */
const RETRY_AFTER_S = 5;
/** How many incomplete deletions a caller can have; each may wait for a peer for weeks. */
const MAX_OPEN = 1_000;

export function findDeletion(db: Queries, contextId: string): ContextDeletion | undefined {
  const row = db.get('SELECT * FROM context_deletions WHERE context_id = ?', contextId);
  return row && deletionRecord(db, row);
}

export function findDeletions(db: Queries): ContextDeletion[] {
  return db
    .all('SELECT * FROM context_deletions ORDER BY asked_at, context_id')
    .map((row) => deletionRecord(db, row));
}

/** The refusal of a task in a context whose deletion is incomplete: it would take new tasks with it. */
export function refuseTask(contextId: string): FleetError {
  const message = `context ${contextId} is being deleted: send the task again later, or in another context`;
  return new FleetError('CONTEXT_IN_USE', message, { retryAfterS: RETRY_AFTER_S });
}

/** Throws QUEUE_FULL for a caller that has as many incomplete deletions as it can have. */
export function assertMayDelete(db: Queries, caller: string): void {
  if (numberOf(db, 'SELECT count(*) FROM context_deletions WHERE caller = ?', caller) < MAX_OPEN) return;
  const message = `${MAX_OPEN} deletions of ${caller} are not complete: ask for others when some of these are`;
  throw new FleetError('QUEUE_FULL', message, { retryAfterS: RETRY_AFTER_S });
}

/** The transaction of `LedgerContexts.record`. */
export function recordProgress(
  db: Queries,
  contextId: string,
  { results, removed, peers }: ContextDeletionProgress,
): ContextDeletion | undefined {
  const before = findDeletion(db, contextId);
  if (before?.results !== results) return before;
  if (removed)
    db.run(
      'UPDATE context_deletions SET had_files = ?, result = ? WHERE context_id = ?',
      removed.files ? 1 : 0,
      removed.result,
      contextId,
    );
  for (const peer of peers)
    db.run(
      `UPDATE context_deletion_peers SET state = ?, detail = ?
       WHERE context_id = ? AND peer = ? AND peer_context_id = ? AND is_agent = 0`,
      peer.state,
      peer.detail ?? null,
      contextId,
      peer.peer,
      peer.contextId,
    );
  return completed(db, contextId);
}

/** Finds the deletions whose tasks may have left something in the file. */
export function findUnpurged(db: Queries): string[] {
  const rows = db.all('SELECT context_id FROM context_deletions WHERE purged = 0');
  return rows.map((row) => text(row, 'context_id'));
}

/** Records that nothing of the erased tasks of these contexts is left in the file. */
export function recordPurged(db: Queries, contextIds: readonly string[]): void {
  for (const contextId of contextIds) {
    db.run('UPDATE context_deletions SET purged = 1 WHERE context_id = ?', contextId);
    completed(db, contextId);
  }
}

/** The state of a deletion, which is forgotten if it is complete. */
function completed(db: Queries, contextId: string): ContextDeletion | undefined {
  const deletion = findDeletion(db, contextId);
  if (!deletion?.purged || !deletion.removed) return deletion;
  if (deletion.peers.some(({ state }) => state === 'pending')) return deletion;
  db.run('DELETE FROM context_deletions WHERE context_id = ?', contextId);
  const isKept = deletion.removed.result === 'kept';
  if (!isKept) forgetCallersOf(db, contextId, { peers: deletion.results === 'delete' });
  return deletion;
}

function deletionRecord(db: Queries, row: Row): ContextDeletion {
  const contextId = text(row, 'context_id');
  return {
    contextId,
    caller: text(row, 'caller'),
    askedAt: integer(row, 'asked_at'),
    results: oneOf(row, 'results', MODES),
    tasks: integer(row, 'tasks'),
    purged: integer(row, 'purged') === 1,
    removed:
      row.result === null
        ? undefined
        : { files: integer(row, 'had_files') === 1, result: oneOf(row, 'result', RESULTS) },
    peers: db
      .all(
        'SELECT * FROM context_deletion_peers WHERE context_id = ? ORDER BY peer, peer_context_id, is_agent',
        contextId,
      )
      .map(peerRecord),
  };
}

function peerRecord(row: Row): PeerDeletion {
  return {
    peer: text(row, 'peer'),
    contextId: text(row, 'peer_context_id'),
    state: oneOf(row, 'state', STATES),
    ...(row.detail === null ? {} : { detail: text(row, 'detail') }),
  };
}
