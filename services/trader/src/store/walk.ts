import { createHash, type Hash } from 'node:crypto';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Queries } from '@hermes-fleet/store';
import type { Accepted, AuditHead, Broken, Difference, VerifyReport } from '../control/audit-verifier.ts';
import { GENESIS } from './canonical.ts';
import { createComparison, type Tables } from './compare.ts';
import { type AuditRow, continues } from './links.ts';

/** The rows after the last sound record, as an `accept` record covers them. */
export interface Cover {
  /** The last row, which the record follows. */
  readonly follows: AuditHead;
  /** The last sound record, and the digest of the rows after it; undefined if all rows are sound. */
  readonly stretch: { readonly after: AuditHead; readonly digest: string } | undefined;
}

/** A break whose reason is not known yet. */
interface Unexplained {
  readonly head: AuditHead;
  readonly link: AuditRow;
  readonly known: AuditHead | undefined;
}

/** The rows from a break on, until an operator accepts them. */
interface Stretch {
  readonly after: AuditHead;
  readonly digest: Hash;
  rows: number;
}

export type Walk = ReturnType<typeof createWalk>;

/** Follows the chain row by row, and replays its records. */
export function createWalk() {
  let last: AuditHead = { seq: 0, hash: GENESIS };
  let records = 0;
  let known: AuditHead | undefined;
  let isKnown = false;
  let rewrite: Broken | undefined;
  let stretch: Stretch | undefined;
  let broken: Broken | undefined;
  let unexplained: Unexplained | undefined;
  /** A row of a table that differs. Nothing is replayed from there on, until an operator accepts the tables. */
  let difference: Broken | undefined;
  const accepted: Accepted[] = [];
  const comparison = createComparison();

  const begin = (row: AuditRow, found: Broken | undefined): void => {
    stretch = { after: last, digest: createHash('sha256'), rows: 0 };
    broken = found ?? { seq: row.seq, reason: 'it does not continue the record before it' };
    if (found === undefined) unexplained = { head: last, link: row, known };
  };

  const takeRow = (row: AuditRow, db: Queries): void => {
    const isNext = row.isText && continues(last.hash, row);
    const record = isNext && (stretch !== undefined || isAccept(row)) ? recordOf(row) : undefined;
    if (record !== undefined && isAcceptanceOf(record, cover())) {
      records += stretch?.rows ?? 0;
      [stretch, broken, unexplained, difference] = [undefined, undefined, undefined, undefined];
      accepted.push(acceptedIn(row.seq, record));
    } else if (stretch === undefined) {
      const misplaced = misplacement(row, last);
      if (misplaced !== undefined || !isNext) begin(row, misplaced);
    }
    if (row.seq === known?.seq) {
      if (stretch === undefined && row.hash !== known.hash) rewrite ??= rewritten(row.seq);
      isKnown = true;
    }
    last = { seq: row.seq, hash: row.hash };
    if (stretch !== undefined) {
      stretch.rows += 1;
      stretch.digest.update(fingerprintOf(row));
      return;
    }
    records += 1;
    if (difference === undefined) replay(row, db);
  };

  const replay = ({ seq, hash, record: bytes }: AuditRow, db: Queries): void => {
    try {
      const record: JsonObject = JSON.parse(Buffer.from(bytes).toString());
      differs(comparison.takeRecord({ seq, hash, record }, db));
    } catch (error) {
      const { message } = FleetError.from(error);
      difference = { seq, reason: `it contradicts the records before it: ${message}` };
    }
  };

  const differs = (found: Difference | undefined): void => {
    if (found === undefined) return;
    const { table, row, reason } = found;
    difference ??= { seq: last.seq, reason: `the table ${table} differs at ${row}: ${reason}`, table, row };
  };

  const cover = (): Cover => ({
    follows: last,
    stretch: stretch && { after: stretch.after, digest: stretch.digest.copy().digest('hex') },
  });

  return {
    takeRow,
    /** Compares the tables with the records so far; `db` if they are as they are now. */
    compare: (tables: Tables, db?: Queries): void => {
      if (stretch !== undefined || difference !== undefined) return;
      differs(comparison.ofTables(tables) ?? (db && comparison.inPlace(db)));
    },
    differs,
    /** A head that the chain must have from here on. */
    expect: (head: AuditHead | undefined): void => {
      [known, isKnown] = [head, head === undefined || head.seq === last.seq];
      rewrite = head?.seq === last.seq && head.hash !== last.hash ? rewritten(last.seq) : undefined;
    },
    /** The head that was expected and has not been found. */
    get expected() {
      return isKnown ? undefined : known;
    },
    get last() {
      return last;
    },
    /** Nothing is wrong so far. */
    get isSound() {
      return stretch === undefined && difference === undefined;
    },
    get unexplained() {
      return unexplained;
    },
    explained: (found: Broken): void => {
      [broken, unexplained] = [found, undefined];
    },
    get accepted() {
      return comparison.decisions.accepted;
    },
    get acceptedBooks() {
      return comparison.books.accepted;
    },
    cover,
    /** `end`: what is wrong with the end of the chain. */
    report: (end: Broken | undefined): VerifyReport => {
      const found = broken ?? rewrite ?? end ?? difference;
      return {
        ok: found === undefined,
        records,
        head: stretch?.after ?? last,
        ...(found !== undefined && { broken: found }),
        ...(accepted.length > 0 && { accepted: [...accepted] }),
      };
    },
  };
}

const ACCEPT = Buffer.from('"kind":"accept"');
const isAccept = ({ record }: AuditRow): boolean => Buffer.from(record).includes(ACCEPT);

function recordOf({ record }: AuditRow): JsonObject | undefined {
  if (!Buffer.from(record).includes(ACCEPT)) return undefined;
  const value: unknown = JSON.parse(Buffer.from(record).toString());
  return isJsonObject(value) && value['kind'] === 'accept' ? value : undefined;
}

/** True if the record accepts exactly these rows. */
function isAcceptanceOf(record: JsonObject, { follows, stretch }: Cover): boolean {
  const { covers } = record;
  if (!isHead(record['follows'], follows)) return false;
  if (stretch === undefined) return covers === null;
  return (
    isJsonObject(covers) && isHead(covers['after'], stretch.after) && covers['digest'] === stretch.digest
  );
}

const isHead = (value: unknown, { seq, hash }: AuditHead): boolean =>
  isJsonObject(value) && value['seq'] === seq && value['hash'] === hash;

function acceptedIn(seq: number, record: JsonObject): Accepted {
  const { published } = record;
  const text = (name: string): string => String(record[name]);
  return {
    seq,
    at: text('at'),
    caller: text('caller'),
    reason: text('reason'),
    ...(isJsonObject(published) && {
      published: { seq: Number(published['seq']), hash: String(published['hash']) },
    }),
  };
}

/** What a row is in the digest of a stretch. */
function fingerprintOf({ seq, record, hash, isText }: AuditRow): Buffer {
  const sized = `${seq} ${isText} ${record.length} ${hash.length} `;
  return Buffer.concat([Buffer.from(sized), record, Buffer.from(hash, 'latin1')]);
}

/** A defect of a row's position or type; undefined if there is none. */
function misplacement({ seq, isText }: AuditRow, last: AuditHead): Broken | undefined {
  if (seq < 1) return { seq, reason: 'it was inserted: the chain begins at 1' };
  if (seq > last.seq + 1) return gap(last.seq + 1, seq - 1, 'deleted');
  return isText ? undefined : { seq, reason: 'it was changed: its record or hash is not text' };
}

export const gap = (from: number, to: number, how: string): Broken => ({
  seq: from,
  reason: from === to ? `it is gone: ${how}` : `records ${from} to ${to} are gone: ${how}`,
});

const rewritten = (seq: number): Broken => ({
  seq,
  reason:
    'it is not the one that was published: it or an earlier record was changed, and the later ones were hashed again',
});
