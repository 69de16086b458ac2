import { integer, type Queries, text } from '@hermes-fleet/store';
import { rememberCallers } from './context-callers.ts';
import { pruneConversations } from './conversations.ts';
import { groupsBefore } from './ended-counts.ts';
import { taskState } from './rows.ts';
import type { Sums } from './sums.ts';
import type { Scope } from './task-writes.ts';

/**
 * Removes up to `batch` ended tasks that were last updated before `before` (ms since the epoch), oldest first, with all their
 * rows, remembers their callers, and returns their ids; also removes conversations of contexts without tasks that ended before it. The terminal event is a task's last: at or below the cursor,
 * all events of the task are published.
 */
export function pruneTasks(db: Queries, { clock, sums }: Scope, before: number, batch: number): string[] {
  const old = groupsBefore(db, before)
    .flatMap(({ caller, state }) =>
      db.all(
        `SELECT e.task, e.updated_at, t.id FROM endings e JOIN tasks t ON t.n = e.task
         WHERE e.caller = ? AND e.state = ? AND e.updated_at < ? AND e.seq <= (SELECT cursor FROM outbox)
         ORDER BY e.updated_at LIMIT ?`,
        caller,
        state,
        before,
        batch,
      ),
    )
    .map((row) => ({ n: integer(row, 'task'), id: text(row, 'id'), updatedAt: integer(row, 'updated_at') }))
    .sort((a, b) => a.updatedAt - b.updatedAt || a.n - b.n)
    .slice(0, batch);
  const pruned = JSON.stringify(old.map(({ n }) => n));
  rememberCallers(db, clock.now(), 't.n IN (SELECT value FROM json_each(?1))', pruned);
  removeTasks(db, sums, pruned);
  pruneConversations(db, before, batch);
  return old.map(({ id }) => id);
}

/** Removes ended tasks, whose numbers are a JSON list, from the counts and the file. Their rows in other tables go by foreign keys. */
export function removeTasks(db: Queries, sums: Sums, numbers: string): void {
  const ended = db.all(
    'SELECT caller, state, updated_at FROM endings WHERE task IN (SELECT value FROM json_each(?))',
    numbers,
  );
  for (const row of ended)
    sums.ended({ caller: text(row, 'caller'), state: taskState(row) }, integer(row, 'updated_at'), -1);
  db.run('DELETE FROM tasks WHERE n IN (SELECT value FROM json_each(?))', numbers);
}
