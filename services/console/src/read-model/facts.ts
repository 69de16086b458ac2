import { integer, type Queries } from '@hermes-fleet/store';

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
