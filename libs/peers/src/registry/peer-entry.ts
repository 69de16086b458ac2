import { isDeepStrictEqual } from 'node:util';
import type { ConfiguredPeer } from '@hermes-fleet/fleet-config';
import { peerUrlKey, withAdvertisedPath } from '@hermes-fleet/fleet-config';
import type { Clock, SessionAnnounce } from '@hermes-fleet/protocol';
import { isLive, type PeerCard, type PeerProfile } from '../peer-profile.ts';
import type { JoinBinding } from './authorize-announce.ts';
import { createPeerHealth, type PeerHealth } from './peer-health.ts';

/** What is kept of one peer. */
export interface PeerEntry {
  readonly configured: ConfiguredPeer | undefined;
  readonly health: PeerHealth;
  /** Set while its standing is `joined`; `place` is its address as it is compared. */
  joined: (JoinBinding & { readonly urlKey: string }) | undefined;
  /** Whose token the announce came with, or the peer joined with; undefined for an answer and a message on NATS. */
  caller: string | undefined;
  announce: SessionAnnounce | undefined;
  receivedAt: number | undefined;
  card: PeerCard | undefined;
}

export function createPeerEntry(clock: Clock, configured: ConfiguredPeer | undefined): PeerEntry {
  return {
    configured,
    health: createPeerHealth(clock),
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

/** A peer as others see it. `joinToken` goes with the address that a worker joined with, and nowhere else. */
export function toPeerProfile(name: string, entry: PeerEntry, joinToken: string | undefined): PeerProfile {
  const { configured, joined, announce, receivedAt, card, health } = entry;
  return {
    name,
    standing: configured ? 'configured' : joined ? 'joined' : 'known',
    card,
    endpoint: configured
      ? { name, url: rpcUrlOf(configured.url, card), ...tokenOf(configured.token) }
      : joined && { name, url: joined.url, ...tokenOf(joinToken) },
    announce,
    receivedAt,
    ...health.snapshot(),
  };
}

/** A profile is where fleet.yaml says. Another agent may serve its JSON-RPC under another path, which its card tells. */
function rpcUrlOf(url: string, card: PeerCard | undefined): string {
  return card?.handshake === false && card.rpcUrl !== undefined ? withAdvertisedPath(url, card.rpcUrl) : url;
}

const tokenOf = (token: string | undefined): { token?: string } => (token === undefined ? {} : { token });

/**
 * Whether `next` is to replace `known`: the greater instance, then the greater sequence; without them, the later one.
 * An instance that has expired gives way to any other, so that a restart on a clock that was set back is heard again.
 */
export function isNewer(next: SessionAnnounce, known: SessionAnnounce, expired: boolean): boolean {
  if (next.instanceId === undefined || known.instanceId === undefined) return true;
  if (next.instanceId !== known.instanceId) return expired || next.instanceId > known.instanceId;
  return next.seq === undefined || known.seq === undefined || next.seq > known.seq;
}

/** Whether routing reads the same from two profiles of a peer at `now`: a heartbeat is no news. */
export function isSameForRouting(before: PeerProfile | undefined, after: PeerProfile, now: number): boolean {
  return before !== undefined && isDeepStrictEqual(routingView(before, now), routingView(after, now));
}

function routingView(peer: PeerProfile, now: number): unknown {
  const { standing, endpoint, announce, circuitOpenUntil } = peer;
  const state = [standing, endpoint, circuitOpenUntil > now];
  if (!announce) return state;
  const { protocolVersion, protocolVersions, worker, capabilities, mcpHealth, session, limits } = announce;
  return [
    ...state,
    isLive(peer, now),
    [announce.instanceId, announce.role, announce.ready, protocolVersion, protocolVersions],
    [worker.model, worker.modelTier, worker.contextWindow],
    [capabilities.tools, capabilities.mcpServers, mcpHealth],
    [session.activeTasks, session.repoState.branch, session.repoState.clean, session.sessionFresh],
    limits && [limits.maxConcurrentTasks, limits.queueDepth, limits.queuedTasks],
  ];
}
