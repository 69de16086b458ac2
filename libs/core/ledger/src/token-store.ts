import { FleetError } from '@hermes-fleet/protocol';
import type { TokenEntry } from '@hermes-fleet/protocol/ports';
import type { Queries, Row, Store } from '@hermes-fleet/store';
import { BOOKED, book, CLOSED, type Recorded } from './figures.ts';
import type { LiveTasks } from './live-tasks.ts';
import { tokenEntry } from './rows.ts';
import type { Scope, Standing, TaskWrites } from './task-writes.ts';
import type { LedgerTokens } from './types.ts';

/**
 * Books an estimate before a call and replaces it after the call; an unsettled estimate stays charged
 * (docs/handshake.md#tokens). `onBooked` is called after the COMMIT that adds spent tokens to the figures.
 */
export function createTokenStore(
  store: Store,
  live: LiveTasks,
  scope: Scope,
  onBooked: (recorded: Recorded) => void,
): LedgerTokens {
  return {
    entries: (taskId) =>
      store.read((db) =>
        live.findTask(taskId)?.belongings.has('tokens') === false
          ? []
          : db
              .all('SELECT * FROM tokens WHERE task = (SELECT n FROM tasks WHERE id = ?) ORDER BY id', taskId)
              .map(tokenEntry),
      ),
    reserve: (taskId, estimate, tier) =>
      store.write(
        (db) => {
          const task = scope.writes.get(db, taskId);
          if (task.unfinished) return String(insert(db, scope.writes, task, estimate, 0, tier ?? null));
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
          return row && book(db, scope, row);
        },
        (recorded) => recorded && onBooked(recorded),
      );
    },
    add: async (taskId, entry) => {
      await store.write(
        (db) => bookEntry(db, scope, taskId, entry),
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
  const columns = columnsOf(actual);
  const row = db.get(
    `UPDATE tokens SET settled = 1, ${Object.keys(columns)
      .map((column) => `${column} = ?`)
      .join(', ')} WHERE id = ? AND settled = 0 RETURNING ${BOOKED}`,
    ...Object.values(columns),
    id,
  );
  if (row || db.get('SELECT settled FROM tokens WHERE id = ?', id)?.settled === CLOSED) return row;
  throw new FleetError('INTERNAL', `token reservation ${id} is not open`, { retryable: false });
}

/** Books tokens that were spent, in the caller's transaction. Throws TASK_NOT_FOUND. */
export function bookEntry(db: Queries, scope: Scope, taskId: string, entry: TokenEntry): Recorded {
  const id = insert(db, scope.writes, scope.writes.get(db, taskId), entry, 1, null);
  return book(db, scope, db.get(`SELECT ${BOOKED} FROM tokens WHERE id = ?`, id) ?? {});
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
  const row = { ...columnsOf(entry), id: writes.tokenId(), task: task.n, settled, tier };
  return db.insert('tokens', row).rowid;
}

const columnsOf = (entry: TokenEntry) => ({
  kind: entry.kind,
  input_tokens: entry.inputTokens,
  output_tokens: entry.outputTokens,
  cache_read_tokens: entry.cacheReadTokens,
  cache_write_tokens: entry.cacheWriteTokens,
  reasoning_tokens: entry.reasoningTokens ?? 0,
  source: entry.source,
  model: entry.model,
});
