import { createHash, type Hash, hash } from 'node:crypto';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { integer, type Queries, type Store, text } from '@hermes-fleet/store';
import type { Difference } from '../control/audit-verifier.ts';
import type { AuditRecord } from '../control/control-store.ts';
import { type AddSlice, digestAll, digestInTurns } from './accepted-rows.ts';
import { escapeName, readName } from './rows.ts';

const SLICE = 500;

/** A stored engine, and the end of its books. */
export interface StoredEngine {
  /** As the table has it. */
  readonly concernId: string;
  /** SHA-256 of its snapshot; undefined if only its books are there. */
  readonly snapshot: string | undefined;
  /** Number of the newest entry; 0 if there is none. */
  readonly last: number;
}

export const enginesIn = (db: Queries): StoredEngine[] =>
  db
    .all(
      `SELECT concern_id, max(snapshot) AS snapshot, max(n) AS last FROM (
         SELECT concern_id, snapshot, 0 AS n FROM engines UNION ALL
         SELECT id, NULL, (SELECT ifnull(max(n), 0) FROM books WHERE concern_id = id) FROM concerns
       ) GROUP BY concern_id`,
    )
    .map((row) => ({
      concernId: text(row, 'concern_id'),
      snapshot: row.snapshot === null ? undefined : hash('sha256', text(row, 'snapshot')),
      last: integer(row, 'last'),
    }));

/** Records that are searched for the newest one of an engine. An older one is left to the verification. */
const SEARCHED = 100_000;

/** Concerns whose engine is not as the newest record says. */
export const unsoundEnginesIn = (db: Queries): string[] =>
  enginesIn(db).flatMap(({ concernId, snapshot, last }) => {
    if (last === 0) return [];
    const row = db.get(
      `SELECT json_extract(record, '$.kind') AS kind, json_extract(record, '$.snapshot') AS snapshot,
         record FROM audit
       WHERE seq > (SELECT max(seq) FROM audit) - ${SEARCHED} AND (json_extract(record, '$.kind') = 'accept'
         OR (json_extract(record, '$.kind') = 'books' AND json_extract(record, '$.concern_id') = ?))
       ORDER BY seq DESC LIMIT 1`,
      nameOf(concernId),
    );
    if (row === undefined) return [];
    const wanted = row.kind === 'books' ? row.snapshot : acceptedSnapshot(text(row, 'record'), concernId);
    return wanted === (snapshot ?? null) ? [] : [nameOf(concernId)];
  });

function acceptedSnapshot(record: string, concernId: string): unknown {
  const { engines } = JSON.parse(record);
  const found = Array.isArray(engines) ? engines.find((each) => each?.concern_id === concernId) : undefined;
  return found?.snapshot ?? null;
}

const nameOf = (concernId: string): string => readName({ name: concernId }, 'name');

/** Books that an operator accepted as they were. */
export interface AcceptedBooks {
  readonly concernId: string;
  readonly last: number;
  /** Of all entries up to `last`. */
  readonly digest: string;
}

/** Compares books and engines with the `books` records of the audit. */
export function createBookReplay() {
  const saved = new Map<string, { readonly last: number; readonly snapshot: string | undefined }>();
  let accepted: readonly AcceptedBooks[] = [];

  const takeBooks = ({ seq, record }: AuditRecord, db: Queries): Difference | undefined => {
    const { concern_id: concern, entries, snapshot } = record;
    if (typeof concern !== 'string' || typeof snapshot !== 'string')
      return differs('books', `of record ${seq}`, 'its record has no concern or no snapshot');
    const concernId = escapeName(concern);
    const before = saved.get(concernId)?.last ?? 0;
    saved.set(concernId, { last: lastOf(entries) ?? before, snapshot });
    if (!isJsonObject(entries)) return undefined;
    // Numbers begin at 1, so rows below are nobody's.
    const after = before === 0 ? Number.MIN_SAFE_INTEGER : before;
    const { first, last, hash: wanted } = entries;
    const rows = db.all(
      'SELECT n, entry FROM books WHERE concern_id = ? AND n > ? AND n <= ? ORDER BY n',
      ...[concernId, after, Number(last)],
    );
    const digest = createHash('sha256');
    addRows(digest, rows);
    const isSame = rows.length > 0 && rows[0]?.n === first && rows.at(-1)?.n === last;
    if (isSame && digest.digest('hex') === wanted) return undefined;
    return differs('books', `${concern} ${first} to ${last}`, `they are not those of record ${seq}`);
  };

  /** Begins anew with the books and engines that an operator accepted. */
  const rebase = ({ record }: AuditRecord): void => {
    saved.clear();
    const engines = (Array.isArray(record['engines']) ? record['engines'] : []).filter(isJsonObject);
    for (const { concern_id, last, snapshot } of engines)
      saved.set(String(concern_id), {
        last: Number(last),
        snapshot: typeof snapshot === 'string' ? snapshot : undefined,
      });
    accepted = engines.map(({ concern_id, last, digest }) => ({
      concernId: String(concern_id),
      last: Number(last),
      digest: String(digest),
    }));
  };

  return {
    /** The accepted books that are still to be compared. */
    get accepted() {
      return accepted;
    },
    takeRecord: (record: AuditRecord, db: Queries): Difference | undefined => {
      if (record.record['kind'] === 'books') return takeBooks(record, db);
      if (record.record['kind'] === 'accept') rebase(record);
      return undefined;
    },
    ofEngines: (engines: readonly StoredEngine[]): Difference | undefined => {
      const stored = new Map(engines.map((engine) => [engine.concernId, engine]));
      for (const [concernId, { last, snapshot }] of saved) {
        const found = stored.get(concernId);
        if (found?.snapshot !== snapshot)
          return differs('engines', concernId, 'its snapshot is not the one that was saved');
        if (found?.last !== last)
          return differs(
            'books',
            concernId,
            `they end with entry ${found?.last ?? 0}, and the audit with ${last}`,
          );
      }
      const strange = engines.find(({ concernId, last }) => last > 0 && !saved.has(concernId));
      return strange && differs('books', strange.concernId, 'the audit does not have them');
    },
  };
}

const lastOf = (entries: JsonObject[string] | undefined): number | undefined =>
  isJsonObject(entries) && typeof entries['last'] === 'number' ? entries['last'] : undefined;

const differs = (table: string, row: string, reason: string): Difference => ({ table, row, reason });

function addRows(digest: Hash, rows: readonly { readonly [column: string]: unknown }[]): void {
  for (const { n, entry } of rows) digest.update(`${String(n)} ${String(entry)}\n`);
}

/** Adds the entries of books up to number `last`. */
const sliceOf =
  ({ concernId, last }: Pick<AcceptedBooks, 'concernId' | 'last'>): AddSlice<number> =>
  (db, digest, after) => {
    const rows = db.all(
      `SELECT n, entry FROM books WHERE concern_id = ? AND n > ? AND n <= ? ORDER BY n LIMIT ${SLICE}`,
      ...[concernId, after, last],
    );
    addRows(digest, rows);
    const end = rows.at(-1);
    return end && integer(end, 'n');
  };

/** What an `accept` record has of the engines and their books. */
export const enginesRecord = (db: Queries): JsonObject[] =>
  enginesIn(db).map(({ concernId, snapshot, last }) => ({
    concern_id: concernId,
    digest: digestAll(db, Number.MIN_SAFE_INTEGER, sliceOf({ concernId, last })),
    last,
    snapshot: snapshot ?? null,
  }));

/** Compares the books that an operator accepted with what they were then. */
export async function assertAcceptedBooks(
  store: Pick<Store, 'read'>,
  all: readonly AcceptedBooks[],
  signal: AbortSignal | undefined,
): Promise<Difference | undefined> {
  for (const books of all) {
    const digest = await digestInTurns(store, Number.MIN_SAFE_INTEGER, sliceOf(books), signal);
    if (digest === books.digest) continue;
    return differs('books', books.concernId, `those up to entry ${books.last} are not the accepted ones`);
  }
  return undefined;
}
