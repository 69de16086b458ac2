import type { PeerProfile } from '@hermes-fleet/peers';
import { backoffMs } from '@hermes-fleet/protocol';
import type { Delegated } from './delegate-options.ts';
import type { Refusal } from './state.ts';

/** What is kept of a refusal: it goes into the checkpoint, into its attempt and into the result. */
const MAX_UNMET = 50;
const MAX_REASON = 500;
const short = (text: string): string => text.slice(0, MAX_REASON);

const LONGEST_MS = 30_000;
/** A peer that refused is left alone for 1 to 2 s, then for twice that, up to 30 s, its upper half at random. */
const PAUSE = { firstMs: 2_000, longestMs: LONGEST_MS };

type Ended = Delegated | { readonly kind: 'failed' };
type Grounds = Pick<Refusal, 'reason' | 'unmet' | 'transient'> & { readonly answered: boolean };

/** Why a peer did not take the task, which is for another one then; undefined where it did. */
export function refusalOf(
  delegated: Ended,
  peer: string,
  before: readonly Refusal[],
  { now, random }: { readonly now: number; readonly random: () => number },
): Refusal | undefined {
  const grounds = groundsOf(delegated);
  if (!grounds) return undefined;
  const { answered, ...refused } = grounds;
  const times = (before.find((refusal) => refusal.peer === peer)?.times ?? 0) + 1;
  const until = now + backoffMs(times, { ...PAUSE, random });
  const longest = Math.max(until, now + backoffMs(1, { firstMs: LONGEST_MS, longestMs: LONGEST_MS, random }));
  const silentUntil = answered ? longest : until;
  return { ...refused, peer, at: now, times, until, ...(refused.transient ? { silentUntil } : {}) };
}

/** The refusals with one more, the latest last. */
export function withRefusal(before: readonly Refusal[], refusal: Refusal): Refusal[] {
  return [...before.filter(({ peer }) => peer !== refusal.peer), refusal];
}

/**
 * Whether a refusal still counts: for its pause in any case, so that a peer whose health flaps is not asked at every
 * turn; after that until the peer has announced itself anew, or for 30 s where what stood in the way may pass.
 */
export function isHeld(
  refusal: Refusal,
  peer: Pick<PeerProfile, 'receivedAt'> | undefined,
  now: number,
): boolean {
  if (now < refusal.until) return true;
  if ((peer?.receivedAt ?? 0) > refusal.at) return false;
  return refusal.silentUntil === undefined || now < refusal.silentUntil;
}

function groundsOf(delegated: Ended): Grounds | undefined {
  if (delegated.kind === 'refused') {
    const answered = delegated.declined ?? false;
    return { reason: short(delegated.reason), unmet: [], transient: !answered, answered };
  }
  if (delegated.kind !== 'result' || delegated.result.status !== 'blocked') return undefined;
  const { blockedReason, unmet = [] } = delegated.result;
  const theirs = unmet
    .slice(0, MAX_UNMET)
    .map((entry) => ({ ...entry, name: short(entry.name), detail: short(entry.detail) }));
  const transient = theirs.length > 0 && theirs.every((entry) => entry.transient);
  return { reason: short(blockedReason ?? 'blocked'), unmet: theirs, transient, answered: true };
}
