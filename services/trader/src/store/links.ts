import { setImmediate } from 'node:timers/promises';
import { FleetError } from '@hermes-fleet/protocol';
import { integer, type Queries, type Row, resultCode, SQLITE, type Store } from '@hermes-fleet/store';
import { chainHash } from './canonical.ts';

const SLICE = 64;

/** A row of the audit as bytes. Text would hide changes: different bytes can decode to the same character. */
export interface AuditRow {
  readonly seq: number;
  readonly record: Uint8Array;
  /** One character per byte. */
  readonly hash: string;
  readonly isText: boolean;
}

/** A row that the file cannot return. */
export class Unreadable extends Error {}

export const continues = (previousHash: string, { record, hash }: AuditRow): boolean =>
  chainHash(previousHash, record) === hash;

/** All rows, in slices, with a turn of the event loop between them. Throws Unreadable and the signal's reason. */
export async function* allSlices(
  store: Pick<Store, 'read'>,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly AuditRow[]> {
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    await setImmediate();
    signal?.throwIfAborted();
    const slice = sliceOf(store, after);
    const last = slice.at(-1);
    if (last === undefined) return;
    yield slice;
    after = last.seq;
  }
}

/** The next rows. Reads a damaged slice row by row, which returns the rows before the damage. Throws Unreadable. */
export function sliceOf(store: Pick<Store, 'read'>, after: number, limit = SLICE): AuditRow[] {
  try {
    return store.read((db) => rowsAfter(db, after, limit));
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (limit > 1) return sliceOf(store, after, 1);
    const { message } = error instanceof FleetError && error.cause instanceof Error ? error.cause : error;
    throw new Unreadable(message, { cause: error });
  }
}

export const rowsAfter = (db: Queries, after: number, limit: number): AuditRow[] =>
  db
    .all(
      `SELECT seq, CAST(record AS BLOB) AS record, CAST(hash AS BLOB) AS hash,
         typeof(record) = 'text' AND typeof(hash) = 'text' AS is_text
       FROM audit WHERE seq > ? ORDER BY seq LIMIT ?`,
      after,
      limit,
    )
    .map((row) => ({
      seq: integer(row, 'seq'),
      record: bytes(row, 'record'),
      hash: Buffer.from(bytes(row, 'hash')).toString('latin1'),
      isText: row.is_text === 1,
    }));

function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  return value instanceof Uint8Array ? value : new Uint8Array();
}

/** True for a damaged file; false for one that is closed, locked or temporarily unreadable. */
export function isDamage(error: unknown): error is Error {
  if (!(error instanceof FleetError)) return error instanceof RangeError;
  const code = resultCode(error.cause);
  return (
    error.code === 'STORE_UNAVAILABLE' &&
    (code === undefined || code === SQLITE.corrupt || code === SQLITE.notADatabase)
  );
}
