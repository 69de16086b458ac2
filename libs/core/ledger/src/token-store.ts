import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, TokenEntry } from '@hermes-fleet/protocol/ports';
import type { Queries, Row, Store } from '@hermes-fleet/store';
import { BOOKED, book, CLOSED, type Recorded } from './figures.ts';
import type { LiveTasks } from './live-tasks.ts';
import { tokenEntry } from './rows.ts';
import type { Sums } from './sums.ts';
import type { Standing, TaskWrites } from './task-writes.ts';
import type { LedgerTokens } from './types.ts';

/**
 * Books an estimate before a call and replaces it after the call; an unsettled estimate stays charged
 * (docs/handshake.md#tokens). `onBooked` is called after the COMMIT that adds spent tokens to the figures.
 */
export function createTokenStore(
  store: Store,
  clock: Clock,
  live: LiveTasks,
  sums: Sums,
  writes: TaskWrites,
  onBooked: (recorded: Recorded) => void,
): LedgerTokens {
  return {
    entries: (taskId) =>
      store.read((db) =>
        live.find(taskId)?.belongings.has('tokens') === false
          ? []
          : db
              .all('SELECT * FROM tokens WHERE task = (SELECT n FROM tasks WHERE id = ?) ORDER BY id', taskId)
              .map(tokenEntry),
      ),
    reserve: (taskId, estimate, tier) =>
      store.write(
        (db) => {
          const task = writes.get(db, taskId);
          if (task.unfinished) return String(insert(db, writes, task, estimate, 0, tier ?? null));
          throw new FleetError('INTERNAL', `task ${taskId} has ended: no model may be called for it`, {
            retryable: false,
          });
        },
        () => live.stores(taskId, 'tokens'),
      ),
    settle: async (reservationId, actual) => {
      await store.write(
        (db) => {
          const row = settle(db, Number(reservationId), actual);
          return row && book(db, clock, sums, row);
        },
        (recorded) => recorded && onBooked(recorded),
      );
    },
    add: async (taskId, entry) => {
      await store.write(
        (db) => bookEntry(db, clock, sums, writes, taskId, entry),
        (recorded) => {
          live.stores(taskId, 'tokens');
          onBooked(recorded);
        },
      );
    },
  };
}

/** The settled row; undefined if the end of the task closed the reservation before. */
function settle(db: Queries, id: number, actual: TokenEntry): Row | undefined {
  const row = db.get(
    `UPDATE tokens SET settled = 1, kind = ?, input_tokens = ?, output_tokens = ?, cache_read_tokens = ?,
       cache_write_tokens = ?, reasoning_tokens = ?, source = ?, model = ?
     WHERE id = ? AND settled = 0 RETURNING ${BOOKED}`,
    ...columns(actual),
    id,
  );
  if (row || db.get('SELECT settled FROM tokens WHERE id = ?', id)?.settled === CLOSED) return row;
  throw new FleetError('INTERNAL', `token reservation ${id} is not open`, { retryable: false });
}

/** Books tokens that were spent, in the caller's transaction. Throws TASK_NOT_FOUND. */
export function bookEntry(
  db: Queries,
  clock: Clock,
  sums: Sums,
  writes: TaskWrites,
  taskId: string,
  entry: TokenEntry,
): Recorded {
  const id = insert(db, writes, writes.get(db, taskId), entry, 1, null);
  return book(db, clock, sums, db.get(`SELECT ${BOOKED} FROM tokens WHERE id = ?`, id) ?? {});
}

function insert(
  db: Queries,
  writes: TaskWrites,
  task: Standing,
  entry: TokenEntry,
  settled: 0 | 1,
  tier: string | null,
): number {
  writes.stores(task, 'tokens');
  return db.run(
    `INSERT INTO tokens (kind, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
       source, model, id, task, settled, tier)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...columns(entry),
    writes.tokenId(),
    task.n,
    settled,
    tier,
  ).rowid;
}

function columns(entry: TokenEntry): [string, number, number, number, number, number, string, string] {
  return [
    entry.kind,
    entry.inputTokens,
    entry.outputTokens,
    entry.cacheReadTokens,
    entry.cacheWriteTokens,
    entry.reasoningTokens ?? 0,
    entry.source,
    entry.model,
  ];
}
