import type { PeerEndpoint } from '@hermes-fleet/a2a';
import type { SessionAnnounce } from '@hermes-fleet/protocol';

/** Seconds that an announce without `ttl_s` is trusted (design 2, When). */
export const DEFAULT_TTL_S = 90;

/** What is known about a peer at one moment: where it is, what it said last, and how it has behaved. */
export interface PeerProfile {
  readonly name: string;
  /** Undefined for a peer that announced itself without being configured: known, never routed to. */
  readonly endpoint: PeerEndpoint | undefined;
  readonly announce: SessionAnnounce | undefined;
  /** When the announce arrived here, ms since the epoch. */
  readonly receivedAt: number | undefined;
  /** Until when nothing is sent because it keeps failing, ms since the epoch; 0 when it does not. */
  readonly circuitOpenUntil: number;
  /** Tasks that this profile has on it right now. */
  readonly inFlight: number;
  /** Share of the recent dispatches that it refused, 0 to 1. */
  readonly blockedRate: number;
  /** Recent time until it took a dispatch, ms; 0 while unknown. */
  readonly latencyMs: number;
}

/** Whether the peer's announce is still to be believed at `now`. */
export function isLive(peer: Pick<PeerProfile, 'announce' | 'receivedAt'>, now: number): boolean {
  if (!peer.announce || peer.receivedAt === undefined) return false;
  return now <= peer.receivedAt + (peer.announce.ttlS ?? DEFAULT_TTL_S) * 1000;
}
