import type { AuditHead, Broken } from '../control/audit-verifier.ts';
import { chainHash, GENESIS } from './canonical.ts';
import { type AuditRow, continues } from './links.ts';

interface BrokenChain {
  /** The whole chain. */
  readonly slices: AsyncIterable<readonly AuditRow[]>;
  /** The last intact record. */
  readonly head: AuditHead;
  /** The row after it, which does not continue it. */
  readonly link: AuditRow;
  readonly known: AuditHead | undefined;
  /** The highest sequence number ever assigned. */
  readonly written: number;
}

/** Relations between the broken row and other rows. */
interface Findings {
  /** The row that continues the last intact record. */
  belongs?: number;
  /** The row that the broken row continues. */
  follows?: number;
  /** The row after the broken row. */
  next?: AuditRow;
  tail: number;
}

/**
 * Explains why a chain breaks at a row. The hashes of other rows show if it was changed, inserted or moved. Names an
 * earlier row if that one was inserted.
 */
export async function explainBreak(options: BrokenChain): Promise<Broken> {
  const { head, link } = options;
  const { belongs, follows, next, tail } = await searchChain(options);
  if (follows !== undefined && follows < head.seq) {
    const seq = follows + 1;
    return { seq, reason: `it was inserted: record ${link.seq} continues ${follows || 'nothing'}` };
  }
  const { seq } = link;
  if (follows !== undefined)
    return { seq, reason: `it is out of order: it continues what stands as record ${follows}` };
  if (belongs !== undefined)
    return { seq, reason: `it was inserted: record ${belongs} continues ${head.seq || 'nothing'}` };
  return { seq, reason: changed(options, next, tail) };
}

async function searchChain({ slices, head, link }: BrokenChain): Promise<Findings> {
  const finds: Findings = { tail: 0 };
  if (continues(GENESIS, link)) finds.follows = 0;
  for await (const slice of slices) {
    for (const other of slice) {
      finds.tail = other.seq;
      if (other.seq === link.seq + 1) finds.next = other;
      if (other.seq > link.seq && continues(head.hash, other)) finds.belongs ??= other.seq;
      if (other.seq !== link.seq && continues(other.hash, link)) finds.follows ??= other.seq;
    }
  }
  return finds;
}

function changed(
  { head, link, known, written }: BrokenChain,
  next: AuditRow | undefined,
  tail: number,
): string {
  const computed = chainHash(head.hash, link.record);
  const isHash = (hash: string): boolean =>
    (next !== undefined && continues(hash, next)) || (known?.seq === link.seq && known.hash === hash);
  if (isHash(computed)) return 'its hash was changed';
  if (!isHash(link.hash)) return 'its record or its hash was changed';
  if (tail === written) return 'its record was changed';
  return `its record was changed, or deleted and those after it renumbered: ${written - tail} of ${written} are gone`;
}
