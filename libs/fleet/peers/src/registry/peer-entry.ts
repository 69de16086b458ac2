import { isDeepStrictEqual } from 'node:util';
import type { ConfiguredPeer } from '@hermes-fleet/fleet-config';
import { normalizePeerUrl, peerUrlKey, withAdvertisedPath } from '@hermes-fleet/fleet-config';
import { announceView, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { capacityOf } from '../capacity.ts';
import { isLive, type PeerCard, type PeerProfile } from '../peer-profile.ts';
import type { Authorization, JoinBinding } from './authorize-announce.ts';
import { createPeerHealth, type PeerHealth } from './peer-health.ts';

export interface PeerEntry {
  readonly configured: ConfiguredPeer | undefined;
  readonly health: PeerHealth;
  /** Set while the peer's standing is `joined`; `urlKey` is its address in comparable form. */
  joined: (JoinBinding & { readonly urlKey: string }) | undefined;
  /** The caller whose token the announce came with; undefined for an answer or a NATS message. */
  caller: string | undefined;
  announce: SessionAnnounce | undefined;
  receivedAt: number | undefined;
  card: PeerCard | undefined;
}

export function createPeerEntry(
  clock: Clock,
  configured: ConfiguredPeer | undefined,
  random?: () => number,
): PeerEntry {
  return {
    configured,
    health: createPeerHealth(clock, random),
    joined: undefined,
    caller: undefined,
    announce: undefined,
    receivedAt: undefined,
    card: undefined,
  };
}

export const withUrlKey = (joined: JoinBinding): NonNullable<PeerEntry['joined']> => ({
  ...joined,
  urlKey: peerUrlKey(joined.url),
});

/** Builds the profile of a peer. `member.token` is only used for the addresses of joined workers. */
export function toPeerProfile(
  name: string,
  entry: PeerEntry,
  member: { readonly token: string | undefined; readonly leavingAt?: number | undefined },
): PeerProfile {
  const { configured, joined, announce, receivedAt, card, health } = entry;
  return {
    name,
    standing: configured ? 'configured' : joined ? 'joined' : 'known',
    card,
    endpoint: configured
      ? { name, url: rpcUrlOf(configured.url, card), ...tokenOf(configured.token) }
      : joined && { name, url: joined.url, ...tokenOf(member.token) },
    announce,
    receivedAt,
    maxTasks: configured?.maxTasks,
    leaving: member.leavingAt !== undefined,
    slots: health.load.slots(
      announce && receivedAt !== undefined ? { sentAt: announce.sentAt, receivedAt } : undefined,
    ),
    ...health.snapshot(),
  };
}

/** The address of a peer's agent card: `agent_card_url`, else the well-known one. Undefined without an address. */
export function cardUrlOf(entry: PeerEntry | undefined): string | undefined {
  const url = entry?.configured?.url ?? entry?.joined?.url;
  return entry?.configured?.cardUrl ?? (url && wellKnownCard(url));
}

export const wellKnownCard = (url: string): string =>
  normalizePeerUrl(url).replace(/\/jsonrpc$/, '/.well-known/agent-card.json');

/** fleet.yaml has the address of a profile. Another agent may serve JSON-RPC under another path, which its card states. */
function rpcUrlOf(url: string, card: PeerCard | undefined): string {
  return card?.handshake === false && card.rpcUrl !== undefined ? withAdvertisedPath(url, card.rpcUrl) : url;
}

const tokenOf = (token: string | undefined): { token?: string } => (token === undefined ? {} : { token });

/** True if two profiles of a peer are equal for routing at `now`, as after a heartbeat. */
export function isSameForRouting(before: PeerProfile | undefined, after: PeerProfile, now: number): boolean {
  return before !== undefined && isDeepStrictEqual(routingView(before, now), routingView(after, now));
}

function routingView(peer: PeerProfile, now: number): unknown {
  const { standing, endpoint, announce, circuitOpenUntil } = peer;
  const state = [standing, endpoint, circuitOpenUntil > now, peer.leaving];
  return announce
    ? [...state, isLive(peer, now), announceView('routing', announce), capacityOf(peer, now)]
    : state;
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
