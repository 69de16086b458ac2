import { hash } from 'node:crypto';
import type { Head } from '@hermes-fleet/events';
import type { Broken } from './control/audit-verifier.ts';

/** What is wrong with an audit, as an operator sees and accepts it. */
export interface Finding {
  /** Stays while the same is found. */
  readonly id: string;
  readonly reason: string;
  readonly broken: Broken;
  /** The published head that the audit contradicts. */
  readonly published: Head | undefined;
}

interface Contradicted {
  readonly head: Head | undefined;
  readonly reason: string;
}

export const reasonOf = ({ seq, reason, table }: Broken): string =>
  table === undefined ? `record ${seq} of the audit: ${reason}` : reason;

/** The finding of a verification and of the comparison with the published head; undefined if both are in order. */
export function findingOf(
  broken: Broken | undefined,
  contradicted: Contradicted | undefined,
): Finding | undefined {
  if (broken === undefined && contradicted === undefined) return undefined;
  const published = contradicted?.head;
  const reasons = [broken && reasonOf(broken), contradicted?.reason].filter((each) => each !== undefined);
  const what = broken ?? { seq: published?.seq ?? 0, reason: contradicted?.reason ?? '' };
  const about = [what.seq, what.table ?? '', what.row ?? '', published?.seq ?? 0, published?.hash ?? ''];
  return {
    id: hash('sha256', JSON.stringify(about)).slice(0, 16),
    reason: reasons.join('; '),
    broken: what,
    published,
  };
}
