import { isLive, isProsePeer, type PeerProfile } from '@hermes-fleet/peers';
import type { Answer, PeerState } from '@hermes-fleet/protocol/api';
import { announceView, type SessionAnnounce, spokenVersions } from '@hermes-fleet/protocol/handshake';

/** The public view of a peer. It has only fields that are listed, so that no token can leak. */
export function peerView(peer: PeerProfile, now: number): Answer<typeof PeerState> {
  const { announce } = peer;
  const openFor = Math.max(0, peer.circuitOpenUntil - now);
  return {
    name: peer.name,
    standing: peer.standing,
    leaving: peer.leaving ?? false,
    state: stateOf(peer, now),
    live: isLive(peer, now),
    age_s: peer.receivedAt === undefined ? null : seconds(now - peer.receivedAt),
    endpoint: peer.endpoint?.url ?? null,
    circuit: openFor > 0 ? 'open' : 'closed',
    circuit_open_for_s: seconds(openFor),
    in_flight: peer.inFlight,
    blocked_rate: Math.round(peer.blockedRate * 1000) / 1000,
    latency_ms: Math.round(peer.latencyMs),
    card: peer.card
      ? {
          handshake: peer.card.handshake,
          versions: peer.card.versions,
          age_s: seconds(now - peer.card.readAt),
        }
      : null,
    announce: announce ? announcedView(announce) : null,
  };
}

function announcedView(announce: SessionAnnounce) {
  const { branch, clean, baseClean = null, health = 'ok' } = announce.session.repoState;
  return {
    ...announceView('operator', announce),
    ready: announce.ready ?? true,
    protocol_versions: spokenVersions(announce),
    repo_state: { branch, clean, base_clean: baseClean, health },
  };
}

export function stateOf(peer: PeerProfile, now: number): Answer<typeof PeerState>['state'] {
  if (isLive(peer, now)) return 'live';
  if (isProsePeer(peer, now)) return 'prose';
  return peer.announce ? 'stale' : 'silent';
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10;
