import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { integer, type Queries, type Store } from '@hermes-fleet/store';
import type { ConsoleConfig } from '../config/schema.ts';

type Limits = ConsoleConfig['retention'];

const EVERY_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;
/** Rows of one transaction: it holds up the views for some milliseconds. */
const AT_A_TIME = 500;
const OLD_ROWS = ['spending', 'ends', 'needs', 'verdicts', 'decisions', 'peers'];

export interface Retention {
  /** Removes everything beyond the limits now. */
  prune(): Promise<void>;
  close(): Promise<void>;
}

/** Removes what is older than the limits, every ten minutes, in small transactions (docs/console.md#retention). */
export function startRetention(options: {
  readonly store: Pick<Store, 'write'>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}): Retention {
  const { store, limits, clock, log } = options;
  let isClosed = false;
  let running: Promise<void> | undefined;
  let timer: Disposable | undefined;

  const run = async (): Promise<void> => {
    const before = clock.now() - limits.days * DAY_MS;
    for (const step of [pruneTasks, pruneEvents, pruneSums]) {
      let removed = AT_A_TIME;
      while (removed > 0 && !isClosed) removed = await store.write((db) => step(db, before, limits));
    }
  };
  const prune = (): Promise<void> => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };
  const arm = (): void => {
    timer = clock.timer(() => {
      prune()
        .catch((err: unknown) => log.warn({ err }, 'old rows could not be removed: trying again later'))
        .finally(() => {
          if (!isClosed) arm();
        });
    }, EVERY_MS);
  };
  arm();

  return {
    prune,
    async close() {
      isClosed = true;
      timer?.[Symbol.dispose]();
      await running?.catch(() => undefined);
    },
  };
}

const countOf = (db: Queries, table: 'tasks' | 'events'): number =>
  integer(db.get(`SELECT count(*) AS n FROM ${table}`) ?? {}, 'n');

/** Removes the tasks that were seen first, with their events, at most `AT_A_TIME`. */
function pruneTasks(db: Queries, before: number, { tasks }: Limits): number {
  const excess = Math.max(0, countOf(db, 'tasks') - tasks);
  const old = db.all(
    `SELECT n, submitted_at < ?1 AND coalesce(ended_at, 0) < ?1 AS is_old FROM tasks
     ORDER BY n LIMIT ?2`,
    before,
    AT_A_TIME,
  );
  const gone = old.filter((row, index) => index < excess || integer(row, 'is_old') === 1);
  for (const row of gone) {
    const n = integer(row, 'n');
    db.run('DELETE FROM events WHERE task = ?', n);
    db.run('DELETE FROM tasks WHERE n = ?', n);
  }
  return gone.length;
}

/** Removes the oldest events: those that are too old, and those beyond the maximum. */
function pruneEvents(db: Queries, before: number, { events }: Limits): number {
  const excess = Math.min(AT_A_TIME, Math.max(0, countOf(db, 'events') - events));
  const old = db.run(
    'DELETE FROM events WHERE n IN (SELECT n FROM (SELECT n, at FROM events ORDER BY n LIMIT ?) WHERE at < ?)',
    AT_A_TIME,
    before,
  ).changes;
  if (excess <= old) return old;
  const more = db.run(
    'DELETE FROM events WHERE n IN (SELECT n FROM events ORDER BY n LIMIT ?)',
    excess - old,
  );
  return old + more.changes;
}

/** Rows of these tables are few: one pass removes them all. */
function pruneSums(db: Queries, before: number): number {
  for (const table of OLD_ROWS) db.run(`DELETE FROM ${table} WHERE at < ?`, before);
  db.run('DELETE FROM facets WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.facet = facets.n)');
  return 0;
}
