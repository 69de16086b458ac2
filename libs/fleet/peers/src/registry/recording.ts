import type { JoinPolicy } from '@hermes-fleet/fleet-config';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Log } from '@hermes-fleet/protocol/ports';
import { announcedLoad } from '../capacity.ts';
import type { PeerProfile } from '../peer-profile.ts';
import { isNewer } from './announce-order.ts';
import type { AnnounceSource, Authorization } from './authorize-announce.ts';
import type { PeerEntry } from './peer-entry.ts';

/** True if the announce says that the peer can start a task now. */
export function hasRoom(announce: SessionAnnounce): boolean {
  const { maxConcurrentTasks: limit = 0, freeSlots } = announce.limits ?? {};
  return freeSlots === undefined ? announcedLoad(announce, limit) < limit : freeSlots > 0;
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

/**
 * The source of a stored announce: the caller whose token it came with, with its current scopes. Without a caller it was
 * an answer or a NATS message of the peer itself.
 */
export function storedSource(
  agentId: string,
  caller: string | undefined,
  { callers }: JoinPolicy,
): AnnounceSource {
  if (caller === undefined) return { name: agentId };
  const joins = Object.hasOwn(callers, caller) && callers[caller]?.joins === true;
  return { name: caller, scopes: new Set(joins ? ['join'] : []) };
}

/** Logs how a peer belongs to the fleet from now on, where that has changed. */
export function logStandingChange(
  log: Log,
  before: PeerProfile | undefined,
  after: PeerProfile,
  authorization: Authorization,
): void {
  if (before?.standing === after.standing) return;
  const { name: peer, standing, endpoint } = after;
  if (standing === 'joined') log.info({ peer, endpoint: endpoint?.url }, 'a worker has joined');
  if (standing !== 'known') return;
  const note = authorization.standing === 'known' ? authorization.note : undefined;
  log.info({ peer, ...(note === undefined ? {} : { reason: note }) }, 'a peer is known, and not routed to');
}
