import { type Clock, FleetError, type TokenEntry } from '@hermes-fleet/protocol';
import type { Queries, Row, Store } from '@hermes-fleet/store';
import { BOOKED, book, CLOSED, type Recorded } from './figures.ts';
import { tokenEntry } from './rows.ts';
import { endedSeq, notFound } from './tasks.ts';
import type { LedgerTokens } from './types.ts';

/**
 * Books an estimate before a call and replaces it after the call; an unsettled estimate stays charged
 * (docs/handshake.md#tokens). `onBooked` is called after the COMMIT that adds spent tokens to the figures.
 */
export function createTokenStore(
  store: Store,
  clock: Clock,
  onBooked: (recorded: Recorded) => void,
): LedgerTokens {
  return {
    entries: (taskId) =>
      store.read((db) =>
        db.all('SELECT * FROM tokens WHERE task_id = ? ORDER BY id', taskId).map(tokenEntry),
      ),
    reserve: (taskId, estimate, tier) =>
      store.write((db) => String(insert(db, taskId, estimate, 0, tier ?? null))),
    settle: async (reservationId, actual) => {
      await store.write(
        (db) => {
          const row = settle(db, Number(reservationId), actual);
          return row && book(db, clock, row);
        },
        (recorded) => recorded && onBooked(recorded),
      );
    },
    add: async (taskId, entry) => {
      await store.write((db) => bookEntry(db, clock, taskId, entry), onBooked);
    },
  };
}

/** The settled row; undefined if the end of the task closed the reservation before. */
function settle(db: Queries, id: number, actual: TokenEntry): Row | undefined {
  const row = db.get(
    `UPDATE tokens SET settled = 1, kind = ?, input_tokens = ?, output_tokens = ?, cache_read_tokens = ?,
       cache_write_tokens = ?, source = ?, model = ?
     WHERE id = ? AND settled = 0 RETURNING ${BOOKED}`,
    ...columns(actual),
    id,
  );
  if (row || db.get('SELECT settled FROM tokens WHERE id = ?', id)?.settled === CLOSED) return row;
  throw new FleetError('INTERNAL', `token reservation ${id} is not open`, { retryable: false });
}

/** Books tokens that were spent, in the caller's transaction. Throws TASK_NOT_FOUND. */
export function bookEntry(db: Queries, clock: Clock, taskId: string, entry: TokenEntry): Recorded {
  const id = insert(db, taskId, entry, 1, null);
  return book(db, clock, db.get(`SELECT ${BOOKED} FROM tokens WHERE id = ?`, id) ?? {});
}

function insert(db: Queries, taskId: string, entry: TokenEntry, settled: 0 | 1, tier: string | null): number {
  const ended = endedSeq(db, taskId);
  if (ended === undefined) throw notFound(taskId);
  if (ended !== null && settled === 0)
    throw new FleetError('INTERNAL', `task ${taskId} has ended: no model may be called for it`, {
      retryable: false,
    });
  return db.run(
    `INSERT INTO tokens (kind, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, source, model,
       task_id, settled, tier)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...columns(entry),
    taskId,
    settled,
    tier,
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
