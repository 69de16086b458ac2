import { integer, type Queries, type Store } from '@hermes-fleet/store';
import type { AuditHead, VerifyReport } from '../control/control-store.ts';
import { writtenUpTo } from './audit.ts';
import { GENESIS } from './canonical.ts';
import { type Broken, explainBreak } from './explain.ts';
import { type AuditRow, continues, isDamage, readSlices, Unreadable } from './links.ts';

export interface VerifyOptions {
  /** A previously published head. It reveals a truncated tail and a rewritten chain. */
  readonly known?: AuditHead;
  readonly signal?: AbortSignal;
}

/**
 * Verifies the audit chain from its beginning to its end at the time of the call, in slices that yield to the event loop
 * (docs/trader.md#audit). `records` and `head` describe the intact part. Rejects with the signal's reason, and with
 * STORE_UNAVAILABLE if the file is temporarily unreadable.
 */
export async function verifyAudit(
  store: Pick<Store, 'read'>,
  { known, signal }: VerifyOptions = {},
): Promise<VerifyReport> {
  const written = store.read(writtenUpTo);
  const end = Math.max(written, tailOf(store));
  let head: AuditHead = { seq: 0, hash: GENESIS };
  let records = 0;
  const broken = (found: Broken): VerifyReport => ({ ok: false, records, head, broken: found });

  try {
    for await (const slice of readSlices(store, end, signal)) {
      for (const link of slice) {
        const misplaced = misplacement(link, head);
        if (misplaced) return broken(misplaced);
        if (!continues(head.hash, link)) {
          const slices = readSlices(store, end, signal);
          return broken(await explainBreak({ slices, head, link, known, written }));
        }
        if (link.seq === known?.seq && link.hash !== known.hash) return broken(rewritten(link));
        head = { seq: link.seq, hash: link.hash };
        records += 1;
      }
    }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return broken({ seq: head.seq + 1, reason: `it cannot be read: ${error.message}` });
  }
  const expected = Math.max(written, known?.seq ?? 0);
  if (head.seq < expected) return broken(missing(head.seq + 1, expected, 'the tail was cut off'));
  return { ok: true, records, head };
}

/** A defect of a row's position or type; undefined if there is none. */
function misplacement({ seq, isText }: AuditRow, head: AuditHead): Broken | undefined {
  if (seq < 1) return { seq, reason: 'it was inserted: the chain begins at 1' };
  if (seq > head.seq + 1) return missing(head.seq + 1, seq - 1, 'deleted');
  return isText ? undefined : { seq, reason: 'it was changed: its record or hash is not text' };
}

const missing = (from: number, to: number, how: string): Broken => ({
  seq: from,
  reason: from === to ? `it is gone: ${how}` : `records ${from} to ${to} are gone: ${how}`,
});

const rewritten = ({ seq }: AuditRow): Broken => ({
  seq,
  reason:
    'it is not the one that was published: it or an earlier record was changed, and the later ones were hashed again',
});

/** The newest visible row; unbounded if the file is damaged there, since the walk then reaches the damage. */
function tailOf(store: Pick<Store, 'read'>): number {
  const newest = (db: Queries): number =>
    integer(db.get('SELECT ifnull(max(seq), 0) AS seq FROM audit') ?? {}, 'seq');
  try {
    return store.read(newest);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return Number.MAX_SAFE_INTEGER;
  }
}
