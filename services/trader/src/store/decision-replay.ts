import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { controlFingerprint, readControlDecision } from '@hermes-fleet/protocol/control';
import { integer, json, type Queries, type Row, text } from '@hermes-fleet/store';
import type { Difference } from '../control/audit-verifier.ts';
import type { AuditRecord } from '../control/control-store.ts';
import { canonical } from './canonical.ts';
import { escapeName } from './rows.ts';

/** The rows up to a record that an operator accepted as they were. */
export interface AcceptedRows {
  readonly upTo: number;
  readonly digest: string;
  /** Rows that were open then, and changed since. */
  readonly except: ReadonlySet<string>;
}

interface Open {
  readonly id: string;
  /** Undefined for one that an operator accepted. */
  readonly response: JsonObject | undefined;
  /** The revision that it led to; undefined for one that an operator accepted. */
  readonly rev: number | undefined;
  /** The row named this attempt when it was read. */
  readonly isOurs: boolean;
}

/** Attempts that are refused before they are judged, or whose id has the row of another payload. */
const WITHOUT_ROW = new Set<unknown>([
  'forbidden',
  'rate_limited',
  'payload_too_large',
  'decision_id_conflict',
]);

/** Compares the table of decisions with the attempts and outcomes of the audit, record by record. */
export function createDecisionReplay() {
  /** By audit record. */
  const open = new Map<number, Open>();
  /** Decisions that failed may be tried again, and their row then names the new attempt. */
  const failed = new Set<string>();
  let accepted: AcceptedRows | undefined;
  let rows = 0;

  const attempt = ({ seq, record }: AuditRecord, db: Queries): Difference | undefined => {
    const response = objectIn(record, 'response');
    if (!hasRow(record, response)) return undefined;
    const reading = typeof record['text'] === 'string' ? readControlDecision(record['text']) : undefined;
    if (reading === undefined || !('decision' in reading))
      return differs(`of record ${seq}`, 'its record has no payload that is a decision');
    const { decision } = reading;
    const id = decision.decisionId;
    if (decision.dryRun) return undefined;
    const row = rowOf(db, id);
    if (row === undefined) return differs(id, `it is gone, and record ${seq} has its answer`);
    const isOurs = integer(row, 'attempt_seq') === seq;
    const { rev } = objectIn(record, 'change');
    if (record['status'] === 'applied')
      open.set(seq, { id, response, isOurs, rev: typeof rev === 'number' ? rev : undefined });
    if (!isOurs) return undefined;
    if (!failed.delete(id)) rows += 1;
    const wanted = {
      caller: record['caller'],
      concern_id: objectIn(response, 'validation')['concern_match'] === false ? '' : decision.concernId,
      fingerprint: controlFingerprint({ ...decision, dryRun: false }),
      decided_at: Date.parse(String(record['at'])),
    };
    for (const [column, value] of Object.entries(wanted)) {
      const stored = typeof value === 'string' && column !== 'fingerprint' ? escapeName(value) : value;
      if (row[column] !== stored) return differs(id, `its ${column} is not that of record ${seq}`);
    }
    if (record['status'] === 'applied') return undefined;
    return answer(id, row, seq, { response, open: 0, rev: null });
  };

  const outcome = ({ seq, record }: AuditRecord, db: Queries): Difference | undefined => {
    const of = Number(record['of']);
    const apply = open.get(of);
    open.delete(of);
    if (apply === undefined) return undefined;
    const row = rowOf(db, apply.id);
    if (row === undefined) return differs(apply.id, `it is gone, and record ${seq} has its outcome`);
    const isCompensated = record['outcome'] === 'compensated';
    if (isCompensated && apply.isOurs) failed.add(apply.id);
    if (integer(row, 'attempt_seq') !== of) return undefined;
    const response = isCompensated
      ? objectIn(record, 'response')
      : apply.response && { ...apply.response, result: record['result'] ?? null };
    return answer(apply.id, row, seq, { response, open: 0, rev: isCompensated ? null : apply.rev });
  };

  const rebase = ({ seq, record }: AuditRecord): void => {
    open.clear();
    failed.clear();
    rows = 0;
    const { digest, open: applies } = objectIn(record, 'decisions');
    const except = new Set<string>();
    for (const each of Array.isArray(applies) ? applies : []) {
      if (!isJsonObject(each)) continue;
      const { seq: of, decision_id: id } = each;
      if (typeof of !== 'number' || typeof id !== 'string') continue;
      open.set(of, { id, response: undefined, rev: undefined, isOurs: false });
      except.add(id);
    }
    accepted = { upTo: seq, digest: String(digest), except };
  };

  return {
    /** The accepted rows that are still to be compared; undefined if there are none. */
    get accepted() {
      return accepted;
    },
    takeRecord: (record: AuditRecord, db: Queries): Difference | undefined => {
      switch (record.record['kind']) {
        case 'attempt':
          return attempt(record, db);
        case 'outcome':
          return outcome(record, db);
        case 'accept':
          rebase(record);
          return undefined;
        default:
          return undefined;
      }
    },
    /** What differs once the last record is taken. */
    atEnd: (db: Queries): Difference | undefined => {
      for (const [seq, { id, response, isOurs, rev }] of open) {
        const row = isOurs ? rowOf(db, id) : undefined;
        const found = row && answer(id, row, seq, { response, open: 1, rev });
        if (found) return found;
      }
      const after = accepted?.upTo ?? 0;
      const counted = db.get('SELECT count(*) AS n FROM decisions WHERE attempt_seq > ?', after);
      const there = integer(counted ?? {}, 'n');
      if (there === rows) return undefined;
      const strange = strangerAfter(db, after);
      if (strange !== undefined) return differs(strange, 'no record of the audit has made it');
      return differs('*', `there are ${there} rows, and the audit has ${rows}`);
    },
  };
}

const objectIn = (object: JsonObject, name: string): JsonObject => {
  const value = object[name];
  return isJsonObject(value) ? value : {};
};

const differs = (row: string, reason: string): Difference => ({ table: 'decisions', row, reason });

function hasRow({ status }: JsonObject, response: JsonObject): boolean {
  if (status !== 'applied' && status !== 'noop' && status !== 'rejected') return false;
  const errors = Array.isArray(response['errors']) ? response['errors'] : [];
  const isRefused = errors.some((each) => isJsonObject(each) && WITHOUT_ROW.has(each['code']));
  return objectIn(response, 'validation')['schema_valid'] === true && !isRefused;
}

const rowOf = (db: Queries, id: string): Row | undefined =>
  db.get('SELECT * FROM decisions WHERE decision_id = ?', escapeName(id));

/** Compares what a decision came to. What is undefined is not known. */
function answer(
  id: string,
  row: Row,
  seq: number,
  wanted: {
    readonly response: JsonObject | undefined;
    readonly open: 0 | 1;
    readonly rev: number | null | undefined;
  },
): Difference | undefined {
  const { response, open, rev } = wanted;
  if (row.open !== open)
    return differs(id, `it is ${open === 1 ? 'closed' : 'open'}, and record ${seq} says otherwise`);
  if (rev !== undefined && row.rev !== rev) return differs(id, `its revision is not that of record ${seq}`);
  if (response === undefined || textOf(row) === canonical(response)) return undefined;
  return differs(id, `its answer is not that of record ${seq}`);
}

/** The canonical answer of a row; undefined if it is not JSON. */
function textOf(row: Row): string | undefined {
  try {
    return canonical(json(row, 'response'));
  } catch {
    // The difference is what the caller reports.
    return undefined;
  }
}

/** A row that names no attempt of its own. */
function strangerAfter(db: Queries, after: number): string | undefined {
  const row = db.get(
    `SELECT d.decision_id AS id FROM decisions d LEFT JOIN audit a ON a.seq = d.attempt_seq
     WHERE d.attempt_seq > ? AND (a.seq IS NULL OR json_extract(a.record, '$.kind') <> 'attempt'
       OR json_extract(a.record, '$.response.decision_id') IS NOT d.decision_id) LIMIT 1`,
    after,
  );
  return row && text(row, 'id');
}
