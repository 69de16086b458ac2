import { integer, type Queries, text } from '@hermes-fleet/store';
import { highestOf } from './apply-control.ts';
import type { Range } from './ranges.ts';
import { integerOrNull, textOrNull } from './task-rows.ts';

export function concernsIn(db: Queries) {
  return db.all('SELECT * FROM concerns ORDER BY concern_id LIMIT 200').map((row) => ({
    concernId: text(row, 'concern_id'),
    strategyId: textOrNull(row, 'strategy_id'),
    runState: textOrNull(row, 'run_state'),
    riskMode: textOrNull(row, 'risk_mode'),
    at: integer(row, 'at'),
  }));
}

export function verdictsIn(db: Queries, { width, since, until, stepMs }: Range) {
  return db
    .all(
      `SELECT at - at % ?4 AS start, kind, name, sum(count) AS count FROM verdicts
       WHERE width = ?1 AND at >= ?2 AND at < ?3 GROUP BY start, kind, name ORDER BY start, kind, name`,
      ...[width, since, until, stepMs],
    )
    .map((row) => ({
      at: integer(row, 'start'),
      kind: text(row, 'kind'),
      name: text(row, 'name'),
      count: integer(row, 'count'),
    }));
}

/** The newest decisions of a span of time. */
export function decisionsIn(db: Queries, { since, until }: Range, limit: number) {
  return db
    .all(
      'SELECT * FROM decisions WHERE at >= ? AND at < ? ORDER BY at DESC, n DESC LIMIT ?',
      ...[since, until, limit],
    )
    .map((row) => ({
      at: integer(row, 'at'),
      decisionId: text(row, 'decision_id'),
      concernId: text(row, 'concern_id'),
      action: text(row, 'action'),
      status: text(row, 'status'),
      codes: codesIn(text(row, 'codes')),
      caller: text(row, 'caller'),
      auditSeq: integerOrNull(row, 'audit_seq'),
    }));
}

/** The applied decisions of a concern before a time, the newest first. */
export function appliedIn(db: Queries, concernId: string, before: number, limit: number) {
  return db
    .all(
      `SELECT at, decision_id, action, caller FROM decisions WHERE concern_id = ? AND status = 'applied' AND at < ?
       ORDER BY at DESC, n DESC LIMIT ?`,
      ...[concernId, before, limit],
    )
    .map((row) => ({
      at: integer(row, 'at'),
      decisionId: text(row, 'decision_id'),
      action: text(row, 'action'),
      caller: text(row, 'caller'),
    }));
}

const codesIn = (stored: string): string[] => {
  const codes: unknown = JSON.parse(stored);
  return Array.isArray(codes) ? codes.map(String) : [];
};

/** The newest head of an audit, and what its history says; undefined before the first one. */
export function auditIn(db: Queries) {
  const row = db.get('SELECT * FROM audit_heads ORDER BY at DESC, service LIMIT 1');
  if (row === undefined) return undefined;
  const [service, store] = [text(row, 'service'), text(row, 'store')];
  const highest = highestOf(db, service, store);
  const other = db.get(
    'SELECT max(seq) AS seq FROM audit_highest WHERE service = ? AND store <> ?',
    ...[service, store],
  );
  const earlier = other && integerOrNull(other, 'seq');
  const begun =
    earlier === null || earlier === undefined ? null : `another file had ${earlier} records before`;
  return {
    seq: integer(row, 'seq'),
    hash: text(row, 'hash'),
    at: integer(row, 'at'),
    highest: Math.max(highest?.seq ?? 0, earlier ?? 0),
    problem: highest?.problem ?? begun,
  };
}

/** The highest head that was ever seen of each file, which stays over rebuilds. */
export const highestHeadsIn = (db: Queries) =>
  db.all('SELECT * FROM audit_highest ORDER BY service, at').map((row) => ({
    service: text(row, 'service'),
    store: text(row, 'store'),
    seq: integer(row, 'seq'),
    hash: text(row, 'hash'),
    at: integer(row, 'at'),
  }));
