import type { PeerEndpoint } from '@hermes-fleet/a2a';
import type { SessionAnnounce } from '@hermes-fleet/protocol';

/** Seconds that an announce without `ttl_s` is trusted (design 2, When). */
export const DEFAULT_TTL_S = 90;
/** The longest that an announce is trusted, whatever it says: as long as fleet.yaml lets one ask for. */
const MAX_TTL_S = 86_400;

/** What the agent card of a peer says of the handshake. */
export interface PeerCard {
  /** Whether it declares the extension. A peer that does not is a prose peer (design 2, Versions). */
  readonly handshake: boolean;
  /** The versions in the extension's params; empty when it names none. */
  readonly versions: readonly string[];
  /** Where it says that its JSON-RPC is, for a peer that is no profile and serves it elsewhere. */
  readonly rpcUrl?: string | undefined;
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
  const ttlS = Math.min(peer.announce.ttlS ?? DEFAULT_TTL_S, MAX_TTL_S);
  return isWithin(peer.receivedAt, ttlS * 1000, now);
}

/** Whether a moment is not longer ago than this. One that lies as far ahead is no better: the clock was set back. */
export function isWithin(at: number, ms: number, now: number): boolean {
  return Math.abs(now - at) <= ms;
}

/** For how long an agent card is believed after it was read, ms. */
export const CARD_TTL_MS = 90_000;

/**
 * Whether the peer is spoken to in prose: its card, read lately, does not declare the handshake (design 2, Versions).
 * One that writes an announce into its replies (phase 2) is known by that, and takes its tasks in prose all the same.
 */
export function takesProse({ card }: Pick<PeerProfile, 'card'>, now: number): boolean {
  return card !== undefined && !card.handshake && isWithin(card.readAt, CARD_TTL_MS, now);
}

/** Whether the peer is a prose peer to routing: it takes prose, and no live announce says what it can do. */
export function isProsePeer(
  peer: Pick<PeerProfile, 'announce' | 'receivedAt' | 'card'>,
  now: number,
): boolean {
  return takesProse(peer, now) && !isLive(peer, now);
}
