import type { PeerEndpoint } from '@hermes-fleet/a2a';
import type { SessionAnnounce } from '@hermes-fleet/protocol';

/** Seconds that an announce without `ttl_s` is trusted (design 2, When). */
export const DEFAULT_TTL_S = 90;

/** What the agent card of a peer says of the handshake. */
export interface PeerCard {
  /** Whether it declares the extension. A peer that does not is a prose peer (design 2, Versions). */
  readonly handshake: boolean;
  /** The versions in the extension's params; empty when it names none. */
  readonly versions: readonly string[];
  /** When it was read, ms since the epoch. */
  readonly readAt: number;
}

/** What is known about a peer at one moment: where it is, what it said last, and how it has behaved. */
export interface PeerProfile {
  readonly name: string;
  /** Why it is known here: fleet.yaml lists it, it joined with the scope `join`, or it merely announced itself. */
  readonly standing: 'configured' | 'joined' | 'known';
  /** What its agent card says of the handshake; undefined until the card was read. */
  readonly card: PeerCard | undefined;
  /** Undefined for a peer of the standing `known`: never routed to. */
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
