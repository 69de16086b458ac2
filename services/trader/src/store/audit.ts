import type { JsonObject } from '@hermes-fleet/protocol';
import { integer, json, type Queries, type Row, text } from '@hermes-fleet/store';
import type { AuditHead } from '../control/audit-verifier.ts';
import type { AuditRecord } from '../control/control-store.ts';
import { canonical, chainHash, GENESIS } from './canonical.ts';

/** The newest record of the chain. */
export function headOf(db: Queries): AuditHead {
  const row = db.get('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1');
  return row ? { seq: integer(row, 'seq'), hash: text(row, 'hash') } : { seq: 0, hash: GENESIS };
}

/** The highest sequence number ever assigned. It outlives the removal of rows, which reveals a truncated tail. */
export function writtenUpTo(db: Queries): number {
  const row = db.get(`SELECT seq FROM sqlite_sequence WHERE name = 'audit'`);
  return row ? integer(row, 'seq') : 0;
}

/** Sets the number that the next record follows. */
export function numberAfter(db: Queries, seq: number): void {
  const { changes } = db.run(`UPDATE sqlite_sequence SET seq = ? WHERE name = 'audit'`, seq);
  if (changes === 0) db.run(`INSERT INTO sqlite_sequence (name, seq) VALUES ('audit', ?)`, seq);
}

/** Appends a record to the chain in the current transaction, behind `end` (docs/trader.md#audit). */
export function appendRecord(db: Queries, end: AuditHead, record: JsonObject): AuditHead {
  const seq = end.seq + 1;
  const written = canonical(record);
  const hash = chainHash(end.hash, written);
  db.run('INSERT INTO audit (seq, record, hash) VALUES (?, ?, ?)', seq, written, hash);
  return { seq, hash };
}

/** What the next record continues: the hash of the newest record, and the highest sequence number ever assigned. */
export function endOf(db: Queries): AuditHead {
  const row = db.get(
    `SELECT hash, max(seq, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)) AS last
     FROM audit ORDER BY seq DESC LIMIT 1`,
  );
  return row
    ? { seq: integer(row, 'last'), hash: text(row, 'hash') }
    : { seq: writtenUpTo(db), hash: GENESIS };
}

export const recordsAfter = (db: Queries, afterSeq: number, limit: number): AuditRecord[] =>
  db.all('SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?', afterSeq, limit).map(recordOf);

const recordOf = (row: Row): AuditRecord => ({
  seq: integer(row, 'seq'),
  hash: text(row, 'hash'),
  record: json(row, 'record'),
});
