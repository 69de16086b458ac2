import { instanceTime, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Authorization } from './authorize-announce.ts';
import type { PeerEntry } from './peer-entry.ts';

/** How far the clock of a worker may be ahead of ours. */
const MAX_CLOCK_SKEW_MS = 5 * 60_000;

/** Announces that an instance may have numbered: far more than any makes, however wrong its clock is. */
const MAX_SEQ = { atStart: 1_000_000, perSecond: 1_000 };

/** An announce with the time of its arrival, ms since the epoch. */
interface Arrived {
  readonly announce: SessionAnnounce;
  readonly receivedAt: number;
}

/**
 * The reason to refuse an announce for its `seq`, which no instance can have reached since its start; it would make every
 * later announce of the instance an older one (docs/handshake.md#announcing).
 */
export function seqProblem({ seq, instanceId }: SessionAnnounce, now: number): string | undefined {
  if (seq === undefined || instanceId === undefined) return undefined;
  const seconds = Math.max(0, now - instanceTime(instanceId)) / 1000;
  if (seq <= MAX_SEQ.atStart + MAX_SEQ.perSecond * seconds) return undefined;
  return `seq ${seq} is too great for an instance that started ${Math.round(seconds)} s ago`;
}

/**
 * True if `next` replaces `known` (docs/handshake.md#announcing): the greater instance wins, then the greater `seq`;
 * without them, the later arrival. An instance from the future does not count as the greater one, since it would keep out
 * the worker's next starts. A stale instance yields to any other, so that a worker whose clock was set back is accepted
 * again.
 */
function isNewer(next: Arrived, known: Arrived, { expired }: { readonly expired: boolean }): boolean {
  const [nextId, knownId] = [next.announce.instanceId, known.announce.instanceId];
  if (nextId === undefined || knownId === undefined) return true;
  const [later, earlier] = [nextId.toLowerCase(), knownId.toLowerCase()];
  if (later === earlier) return isNewerInInstance(next, known);
  const unordered = [later, earlier].some((id) => instanceTime(id) > next.receivedAt + MAX_CLOCK_SKEW_MS);
  return expired || unordered || later > earlier;
}

/** A smaller `seq` that was sent later shows that the greater one was not the instance's own. */
function isNewerInInstance(next: Arrived, known: Arrived): boolean {
  const [nextSeq, knownSeq] = [next.announce.seq, known.announce.seq];
  if (nextSeq === undefined || knownSeq === undefined || nextSeq > knownSeq) return true;
  return nextSeq < knownSeq && sentAt(next) > sentAt(known);
}

/** The time of sending, at most as far ahead of the arrival as clocks may differ; without one, before all others. */
function sentAt({ announce, receivedAt }: Arrived): number {
  if (announce.sentAt === undefined) return Number.NEGATIVE_INFINITY;
  return Math.min(Date.parse(announce.sentAt), receivedAt + MAX_CLOCK_SKEW_MS);
}

/** True if an authorized announce replaces the recorded one: it is newer, or it makes the peer joined. */
export function supersedes(
  announce: SessionAnnounce,
  authorization: Authorization,
  previous: PeerEntry,
  { expired, now }: { readonly expired: boolean; readonly now: number },
): boolean {
  if (!previous.announce) return true;
  const known = { announce: previous.announce, receivedAt: previous.receivedAt ?? now };
  if (isNewer({ announce, receivedAt: now }, known, { expired })) return true;
  const joins = authorization.standing === 'joined' && !previous.joined;
  const older =
    announce.instanceId === previous.announce.instanceId &&
    (announce.seq ?? 0) < (previous.announce.seq ?? 0);
  return joins && !older;
}
