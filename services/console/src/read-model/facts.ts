import type { StreamPosition } from '@hermes-fleet/events';
import { integer, type Queries, rowReader, text } from '@hermes-fleet/store';

/** Times in ms since the epoch. The status shows all but `concerns_at`, the time of the newest head with concerns. */
export type Fact = 'last_event_at' | 'last_announce_at' | 'rebuilt_at' | 'missed_at' | 'concerns_at';

export function factOf(db: Queries, fact: Fact): number | null {
  const row = db.get('SELECT value FROM facts WHERE fact = ?', fact);
  return row ? integer(row, 'value') : null;
}

/** Notes a time, unless a later one is known. */
export function noteFact(db: Queries, fact: Fact, at: number): void {
  db.run('INSERT INTO facts VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = max(value, ?2)', fact, at);
}

/** The time of the oldest task event that is kept; null without one. */
export function oldestEventAt(db: Queries): number | null {
  const row = db.get('SELECT at FROM events ORDER BY n LIMIT 1');
  return row ? integer(row, 'at') : null;
}

const readPosition = rowReader({ seq: integer, created: text });

/** The position of a reader; undefined before its first event. */
export function positionOf(db: Queries, filter: string): StreamPosition | undefined {
  const row = db.get('SELECT seq, created FROM positions WHERE filter = ?', filter);
  return row && readPosition(row);
}

export function savePosition(db: Queries, filter: string, { seq, created }: StreamPosition): void {
  db.run('INSERT OR REPLACE INTO positions VALUES (?, ?, ?)', filter, seq, created);
}

/** The maximum number of reasons that are counted apart. */
const MAX_REASONS = 50;
const OTHER = 'other';

/** Counts an event that is not projected. `what` says which one it was, for the log and the status. */
export function countSkip(db: Queries, reason: string, what: string): void {
  const known = db.get('SELECT 1 FROM skips WHERE reason = ?', reason);
  const full = integer(db.get('SELECT count(*) AS n FROM skips') ?? {}, 'n') >= MAX_REASONS;
  db.run(
    'INSERT INTO skips VALUES (?1, 1, ?2) ON CONFLICT DO UPDATE SET count = count + 1, last = ?2',
    known || !full ? reason : OTHER,
    what.slice(0, 300),
  );
}

export const skipCount = (db: Queries): number =>
  integer(db.get('SELECT coalesce(sum(count), 0) AS n FROM skips') ?? {}, 'n');
