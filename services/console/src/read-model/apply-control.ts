import type { CloudEvent } from '@hermes-fleet/protocol';
import { integer, type Queries, rowReader, text, textOrNull } from '@hermes-fleet/store';
import { readAnnounced } from '../projection/announce.ts';
import {
  type AuditHead,
  type Concern,
  headProblem,
  readAuditHead,
  readDecision,
} from '../projection/control.ts';
import type { Unusable } from '../projection/event.ts';
import { type Applied, isNew } from './apply.ts';
import { factOf, noteFact } from './facts.ts';
import { bucketOf, WIDTHS } from './sums.ts';

/** Projects an announce: the latest of each member. */
export function applyAnnounce(db: Queries, event: CloudEvent, subject: string): Applied | Unusable {
  const read = readAnnounced(event, subject);
  if ('unusable' in read) return read;
  db.run(
    `INSERT INTO peers VALUES (?1, ?2, ?3)
     ON CONFLICT DO UPDATE SET at = excluded.at, announce = excluded.announce WHERE excluded.at >= at`,
    ...[read.name, read.at, JSON.stringify(read.announce)],
  );
  return { view: 'fleet' };
}

/** Projects a decision of the trader; undefined for one that was projected before. */
export function applyDecision(db: Queries, event: CloudEvent): Applied | Unusable | undefined {
  const read = readDecision(event);
  if ('unusable' in read) return read;
  if (!isNew(db, read)) return undefined;
  const { at, decisionId, concernId, action, status, codes, caller, auditSeq, concern } = read;
  db.run(
    `INSERT INTO decisions (at, decision_id, concern_id, action, status, codes, caller, audit_seq)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[at, decisionId, concernId, action, status, JSON.stringify(codes), caller, auditSeq],
  );
  for (const width of WIDTHS) {
    addVerdict(db, width, at, 'status', status);
    for (const code of new Set(codes)) addVerdict(db, width, at, 'code', code);
  }
  // A newer head does not list it: the trader has it no more.
  const isGone = at <= (factOf(db, 'concerns_at') ?? 0) && !isKnown(db, concernId);
  if (concern && !isGone) putConcern(db, { ...concern, concernId }, at);
  return { view: 'trader' };
}

const isKnown = (db: Queries, concernId: string): boolean =>
  db.get('SELECT 1 FROM concerns WHERE concern_id = ?', concernId) !== undefined;

/** Keeps the latest state of a concern. */
function putConcern(
  db: Queries,
  { concernId, strategyId, runState, riskMode }: Concern & { readonly concernId: string },
  at: number,
): void {
  db.run(
    `INSERT INTO concerns VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT DO UPDATE SET strategy_id = ?2, run_state = coalesce(?3, run_state), risk_mode = ?4, at = ?5
       WHERE excluded.at >= at`,
    ...[concernId, strategyId, runState, riskMode, at],
  );
}

function addVerdict(db: Queries, width: number, at: number, kind: string, name: string): void {
  db.run(
    'INSERT INTO verdicts VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET count = count + 1',
    ...[width, bucketOf(at, width), kind, name],
  );
}

/** The concerns of a head are all that the trader has at that time. */
function applyConcerns(db: Queries, concerns: NonNullable<AuditHead['concerns']>, at: number): void {
  noteFact(db, 'concerns_at', at);
  for (const concern of concerns) putConcern(db, concern, at);
  const known = JSON.stringify(concerns.map(({ concernId }) => concernId));
  db.run(
    'DELETE FROM concerns WHERE at < ? AND concern_id NOT IN (SELECT value FROM json_each(?))',
    at,
    known,
  );
}

/** The most files of one service whose heads are remembered. */
const MAX_STORES = 100;

/**
 * Projects the head of an audit. The highest head of each file stays over rebuilds, because NATS keeps the last one only:
 * it tells when an audit went back.
 */
export function applyAuditHead(db: Queries, event: CloudEvent, subject: string): Applied | Unusable {
  const read = readAuditHead(event, subject);
  if ('unusable' in read) return read;
  const { service, store, seq, hash, at, concerns } = read;
  if (concerns) applyConcerns(db, concerns, at);
  db.run(
    `INSERT INTO audit_heads VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT DO UPDATE SET store = ?2, seq = ?3, hash = ?4, at = ?5 WHERE excluded.at >= at`,
    ...[service, store, seq, hash, at],
  );
  const highest = highestOf(db, service, store);
  if (highest === undefined) {
    const known = integer(db.get('SELECT count(*) AS n FROM audit_highest') ?? {}, 'n');
    if (known >= MAX_STORES) return { unusable: 'heads of too many files' };
    db.run('INSERT INTO audit_highest VALUES (?, ?, ?, ?, ?, NULL)', ...[service, store, seq, hash, at]);
    return { view: 'trader' };
  }
  const problem = headProblem(highest, read);
  if (problem !== null)
    db.run(
      'UPDATE audit_highest SET problem = coalesce(problem, ?) WHERE service = ? AND store = ?',
      ...[problem, service, store],
    );
  else if (seq >= highest.seq && at >= highest.at)
    db.run(
      'UPDATE audit_highest SET seq = ?, hash = ?, at = ? WHERE service = ? AND store = ?',
      ...[seq, hash, at, service, store],
    );
  return { view: 'trader' };
}

const readHighest = rowReader({ seq: integer, hash: text, at: integer, problem: textOrNull });

/** The highest head that was ever seen of a file, and what was found to be wrong with it. */
export function highestOf(db: Queries, service: string, store: string) {
  const row = db.get('SELECT * FROM audit_highest WHERE service = ? AND store = ?', service, store);
  return row && readHighest(row);
}
