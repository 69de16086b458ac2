import { createHash, hash } from 'node:crypto';
import type { BookEntry } from '@hermes-fleet/market';
import { integer, type Queries, text } from '@hermes-fleet/store';
import { bookRecord } from './book-record.ts';
import { canonical } from './canonical.ts';
import type { ControlTransaction } from './control-transaction.ts';
import { escapeName, readName } from './rows.ts';
import { tradeEvent } from './trade-event.ts';

/**
 * Saves an engine with the entries that led to its state, and a `books` record with their hashes (docs/trader.md#books).
 * Entries that are stored already are left out: the store may have reported a failure for a commit that took place.
 */
export function saveEngine(
  tx: ControlTransaction,
  concernId: string,
  { snapshot, entries }: { readonly snapshot: string; readonly entries: readonly BookEntry[] },
): void {
  const { db } = tx;
  const id = escapeName(concernId);
  db.run('INSERT OR REPLACE INTO engines VALUES (?, ?)', id, snapshot);
  const known = lastEntryOf(db, id);
  // Times of entries never go back, so that they can be searched; a clock can.
  const recordedAt = Math.max(tx.now, known.recordedAt);
  const decisionOf = createDecisionOf(db, id);
  const added = entries
    .filter(({ n }) => n > known.n)
    .map((entry) => ({
      entry,
      record: bookRecord(entry, { decisionId: decisionOf(entry.rev), recordedAt }),
    }));
  const hashes = createHash('sha256');
  for (const { entry, record } of added) {
    const stored = canonical(record);
    db.run('INSERT INTO books VALUES (?, ?, ?)', id, entry.n, stored);
    hashes.update(`${entry.n} ${stored}\n`);
  }
  const [first, last] = [added[0], added.at(-1)];
  const link = tx.append({
    concern_id: concernId,
    entries: first && last ? { first: first.entry.n, hash: hashes.digest('hex'), last: last.entry.n } : null,
    kind: 'books',
    snapshot: hash('sha256', snapshot),
  });
  const concern = tx.concern(concernId);
  if (concern === undefined) return;
  // The equity is an event once a minute, so that bars of seconds do not push the events of tasks out of the stream.
  const isNewMinute = minuteOf(recordedAt) > minuteOf(known.recordedAt);
  const lastBar = added.findLast(({ entry }) => entry.kind === 'bar');
  for (const each of added)
    if (each.entry.kind !== 'bar' || (isNewMinute && each === lastBar))
      tx.emit(tradeEvent({ concern, ...each, link, at: tx.now }));
}

const minuteOf = (ms: number): number => Math.floor(ms / 60_000);

/** Number and time of the newest stored entry of a concern; zeros if there is none. */
export function lastEntryOf(db: Queries, id: string): { readonly n: number; readonly recordedAt: number } {
  const row = db.get(
    `SELECT n, json_extract(entry, '$.recorded_at') AS recorded_at FROM books WHERE concern_id = ?
     ORDER BY n DESC LIMIT 1`,
    id,
  );
  return row === undefined
    ? { n: 0, recordedAt: 0 }
    : { n: integer(row, 'n'), recordedAt: Date.parse(text(row, 'recorded_at')) };
}

/** Looks up the decision in force at a revision, once for each. */
function createDecisionOf(db: Queries, id: string): (rev: number | undefined) => string | null {
  const found = new Map<number, string | null>();
  return (rev) => {
    if (rev === undefined) return null;
    const known = found.get(rev);
    if (known !== undefined) return known;
    const row = db.get(
      `SELECT decision_id FROM decisions WHERE concern_id = ? AND rev IS NOT NULL AND rev <= ?
       ORDER BY rev DESC LIMIT 1`,
      id,
      rev,
    );
    const decisionId = row === undefined ? null : readName(row, 'decision_id');
    found.set(rev, decisionId);
    return decisionId;
  };
}
