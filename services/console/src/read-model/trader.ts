import {
  integer,
  integerOrNull,
  type Queries,
  type Row,
  rowReader,
  text,
  textOrNull,
} from '@hermes-fleet/store';
import { highestOf } from './apply-control.ts';
import type { Range } from './ranges.ts';
import { time } from './task-rows.ts';

const CONCERN = {
  concern_id: text,
  strategy_id: textOrNull,
  run_state: textOrNull,
  risk_mode: textOrNull,
  at: time,
};
export const concernsIn = (db: Queries) =>
  db.all('SELECT * FROM concerns ORDER BY concern_id LIMIT 200').map(rowReader(CONCERN));

export const verdictsIn = (db: Queries, { width, since, until, stepMs }: Range) =>
  db
    .all(
      `SELECT at - at % ?4 AS start, kind, name, sum(count) AS count FROM verdicts
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY start, kind, name ORDER BY start, kind, name`,
      ...[width, since, until, stepMs],
    )
    .map(rowReader({ start: integer, kind: text, name: text, count: integer }));

const DECISION = { at: time, decision_id: text, action: text, caller: text };

/** The newest decisions of a span of time. */
export const decisionsIn = (db: Queries, { since, until }: Range, limit: number) =>
  db
    .all(
      'SELECT * FROM decisions WHERE at >= ? AND at < ? ORDER BY at DESC, n DESC LIMIT ?',
      ...[since, until, limit],
    )
    .map(
      rowReader({ ...DECISION, concern_id: text, status: text, codes: textsIn, audit_seq: integerOrNull }),
    );

/** The applied decisions of a concern before a time, the newest first. */
export const appliedIn = (db: Queries, concernId: string, before: number, limit: number) =>
  db
    .all(
      `SELECT at, decision_id, action, caller FROM decisions WHERE concern_id = ? AND status = 'applied' AND at < ?
       ORDER BY at DESC, n DESC LIMIT ?`,
      ...[concernId, before, limit],
    )
    .map(rowReader(DECISION));

function textsIn(row: Row, column: string): readonly string[] {
  const texts: unknown = JSON.parse(text(row, column));
  return Array.isArray(texts) ? texts.map(String) : [];
}

const HEAD = { seq: integer, hash: text, at: time };

/**
 * The newest head of an audit; null before the first one. `highest` is the highest head that the console ever saw; `sound` is false
 * when a head went back or changed.
 */
export function auditIn(db: Queries) {
  const row = db.get('SELECT * FROM audit_heads ORDER BY at DESC, service LIMIT 1');
  if (row === undefined) return null;
  const [service, store] = [text(row, 'service'), text(row, 'store')];
  const highest = highestOf(db, service, store);
  const other = db.get(
    'SELECT max(seq) AS seq FROM audit_highest WHERE service = ? AND store <> ?',
    ...[service, store],
  );
  const earlier = (other && integerOrNull(other, 'seq')) ?? null;
  const begun = earlier === null ? null : `another file had ${earlier} records before`;
  const reason = highest?.problem ?? begun;
  return {
    ...rowReader(HEAD)(row),
    highest: Math.max(highest?.seq ?? 0, earlier ?? 0),
    sound: reason === null,
    reason,
  };
}

/** The highest head that was ever seen of each file, which stays over rebuilds. */
export const highestHeadsIn = (db: Queries) =>
  db
    .all('SELECT * FROM audit_highest ORDER BY service, at')
    .map(rowReader({ service: text, store: text, ...HEAD }));
