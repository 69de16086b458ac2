import { FleetError, type TokenEntry, type TokenStore } from '@hermes-fleet/protocol';
import type { Queries, Store } from '@hermes-fleet/store';
import { tokenEntry } from './rows.ts';
import { endedSeq, notFound } from './tasks.ts';

/**
 * Books an estimate before a call and replaces it after the call; an unsettled estimate stays charged
 * (docs/handshake.md#tokens).
 */
export function createTokenStore(store: Store): TokenStore {
  return {
    entries: (taskId) =>
      store.read((db) =>
        db.all('SELECT * FROM tokens WHERE task_id = ? ORDER BY id', taskId).map(tokenEntry),
      ),
    reserve: (taskId, estimate) => store.write((db) => String(insert(db, taskId, estimate, 0))),
    settle: (reservationId, actual) =>
      store.write((db) => {
        const { changes } = db.run(
          `UPDATE tokens SET settled = 1, kind = ?, input_tokens = ?, output_tokens = ?, cache_read_tokens = ?,
             cache_write_tokens = ?, source = ?, model = ?
           WHERE id = ? AND settled = 0`,
          ...columns(actual),
          Number(reservationId),
        );
        if (changes === 1) return;
        throw new FleetError('INTERNAL', `token reservation ${reservationId} is not open`, {
          retryable: false,
        });
      }),
    add: (taskId, entry) =>
      store.write((db) => {
        insert(db, taskId, entry, 1);
      }),
  };
}

function insert(db: Queries, taskId: string, entry: TokenEntry, settled: 0 | 1): number {
  if (endedSeq(db, taskId) === undefined) throw notFound(taskId);
  return db.run(
    `INSERT INTO tokens (kind, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, source, model,
       task_id, settled)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...columns(entry),
    taskId,
    settled,
  ).rowid;
}

function columns(entry: TokenEntry): [string, number, number, number, number, string, string] {
  return [
    entry.kind,
    entry.inputTokens,
    entry.outputTokens,
    entry.cacheReadTokens,
    entry.cacheWriteTokens,
    entry.source,
    entry.model,
  ];
}
