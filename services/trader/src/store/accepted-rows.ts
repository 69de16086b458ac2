import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { integer, type Queries, type Store, text } from '@hermes-fleet/store';
import type { Difference } from '../control/audit-verifier.ts';
import type { AcceptedRows } from './decision-replay.ts';

const SLICE = 500;

/** Adds the rows behind a key to a digest, at most a slice. Returns the key of the last one; undefined after the last row. */
export type AddSlice<K> = (db: Queries, digest: Hash, after: K) => K | undefined;

/** The digest of all rows behind a key, at once. */
export function digestAll<K>(db: Queries, first: K, addSlice: AddSlice<K>): string {
  const digest = createHash('sha256');
  for (let after: K | undefined = first; after !== undefined; ) after = addSlice(db, digest, after);
  return digest.digest('hex');
}

/** The same, with a turn of the event loop before each slice. Throws the signal's reason. */
export async function digestInTurns<K>(
  store: Pick<Store, 'read'>,
  first: K,
  addSlice: AddSlice<K>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const digest = createHash('sha256');
  for (let after: K | undefined = first; after !== undefined; ) {
    await setImmediate();
    signal?.throwIfAborted();
    const from: K = after;
    after = store.read((db) => addSlice(db, digest, from));
  }
  return digest.digest('hex');
}

/** The digest of the decisions that do not change any more: all but those that are open or may be tried again. */
export const digestOf = (db: Queries, upTo: number): string =>
  digestAll(db, '', sliceOf({ upTo, except: new Set() }));

/** Compares the decisions that an operator accepted with what they were then. */
export async function assertAccepted(
  store: Pick<Store, 'read'>,
  accepted: AcceptedRows,
  signal: AbortSignal | undefined,
): Promise<Difference | undefined> {
  if ((await digestInTurns(store, '', sliceOf(accepted), signal)) === accepted.digest) return undefined;
  const reason = `the rows of before record ${accepted.upTo} are not those that were accepted there`;
  return { table: 'decisions', row: '*', reason };
}

/** Adds decisions in the order of their ids. */
const sliceOf =
  ({ upTo, except }: Pick<AcceptedRows, 'upTo' | 'except'>): AddSlice<string> =>
  (db, digest, after) => {
    const rows = db.all(
      `SELECT *, json_extract(response, '$.status') AS status FROM decisions WHERE decision_id > ?
       ORDER BY decision_id LIMIT ${SLICE}`,
      after,
    );
    for (const row of rows) {
      const id = text(row, 'decision_id');
      const isFinal = row.open !== 1 && row.status !== 'failed' && !except.has(id);
      if (!isFinal || integer(row, 'attempt_seq') >= upTo) continue;
      const { caller, concern_id, fingerprint, response, decided_at, attempt_seq, rev } = row;
      const cells = [id, caller, concern_id, fingerprint, response, decided_at, attempt_seq, rev];
      digest.update(JSON.stringify(cells.map(String)));
    }
    const last = rows.at(-1);
    return last && text(last, 'decision_id');
  };
