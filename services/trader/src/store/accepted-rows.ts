import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { integer, type Queries, type Store, text } from '@hermes-fleet/store';
import type { AcceptedRows } from './decision-replay.ts';
import type { Difference } from './difference.ts';

const SLICE = 500;

/** The digest of the decisions that do not change any more: all but those that are open or may be tried again. */
export function digestOf(db: Queries, upTo: number): string {
  const digest = createHash('sha256');
  for (let after: string | undefined = ''; after !== undefined; )
    after = addSlice(db, digest, after, { upTo, except: new Set() });
  return digest.digest('hex');
}

/** Compares the decisions that an operator accepted with what they were then. */
export async function assertAccepted(
  store: Pick<Store, 'read'>,
  accepted: AcceptedRows,
  signal: AbortSignal | undefined,
): Promise<Difference | undefined> {
  const digest = createHash('sha256');
  for (let after: string | undefined = ''; after !== undefined; ) {
    await setImmediate();
    signal?.throwIfAborted();
    const from: string = after;
    after = store.read((db): string | undefined => addSlice(db, digest, from, accepted));
  }
  if (digest.digest('hex') === accepted.digest) return undefined;
  const reason = `the rows of before record ${accepted.upTo} are not those that were accepted there`;
  return { table: 'decisions', row: '*', reason };
}

/** Adds rows in the order of their ids. Returns the last id; undefined after the last row. */
function addSlice(
  db: Queries,
  digest: Hash,
  after: string,
  { upTo, except }: Pick<AcceptedRows, 'upTo' | 'except'>,
): string | undefined {
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
}
