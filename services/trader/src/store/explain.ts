import type { AuditHead } from '../control/control-store.ts';
import { GENESIS, linked } from './canonical.ts';
import { continues, type Link } from './links.ts';

/** The first broken row, and what is wrong with it. */
export interface Broken {
  readonly seq: number;
  readonly reason: string;
}

interface Break {
  /** The whole chain, from its beginning. */
  readonly slices: AsyncIterable<readonly Link[]>;
  /** The last that holds. */
  readonly head: AuditHead;
  /** The one after it, which does not continue it. */
  readonly link: Link;
  readonly known: AuditHead | undefined;
  /** How far the file has numbered its records. */
  readonly written: number;
}

/** What else continues what, where a chain is broken. */
interface Finds {
  /** Where a row stands that continues the last one that holds. */
  belongs?: number;
  /** Which row the broken one continues. */
  follows?: number;
  /** The row after the broken one. */
  next?: Link;
  tail: number;
}

/**
 * Why a chain breaks at a row: its neighbours' hashes tell whether it was changed, inserted, or stands in another's
 * place. Names an earlier row where that one was inserted.
 */
export async function explain(o: Break): Promise<Broken> {
  const { head, link } = o;
  const { belongs, follows, next, tail } = await searched(o);
  if (follows !== undefined && follows < head.seq) {
    const seq = follows + 1;
    return { seq, reason: `it was inserted: record ${link.seq} continues ${follows || 'nothing'}` };
  }
  const { seq } = link;
  if (follows !== undefined)
    return { seq, reason: `it is out of order: it continues what stands as record ${follows}` };
  if (belongs !== undefined)
    return { seq, reason: `it was inserted: record ${belongs} continues ${head.seq || 'nothing'}` };
  return { seq, reason: changed(o, next, tail) };
}

async function searched({ slices, head, link }: Break): Promise<Finds> {
  const finds: Finds = { tail: 0 };
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

function changed({ head, link, known, written }: Break, next: Link | undefined, tail: number): string {
  const computed = linked(head.hash, link.record);
  const isHash = (hash: string): boolean =>
    (next !== undefined && continues(hash, next)) || (known?.seq === link.seq && known.hash === hash);
  if (isHash(computed)) return 'its hash was changed';
  if (!isHash(link.hash)) return 'its record or its hash was changed';
  if (tail === written) return 'its record was changed';
  return `its record was changed, or deleted and those after it renumbered: ${written - tail} of ${written} are gone`;
}
