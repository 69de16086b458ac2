import type { PeerEndpoint } from '@hermes-fleet/a2a';
import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';

/** Lifetime of an announce without `ttl_s`, seconds (docs/handshake.md#announcing). */
export const DEFAULT_TTL_S = 90;
/** The longest lifetime of an announce, seconds. fleet.yaml has the same limit for `announce.ttl_s`. */
const MAX_TTL_S = 86_400;

/** The handshake declarations of a peer's agent card. */
export interface PeerCard {
  /** True if the card declares the extension. Otherwise the peer is a prose peer (docs/handshake.md#prose-peers). */
  readonly handshake: boolean;
  /** The versions in the extension's params; may be empty. */
  readonly versions: readonly string[];
  /** The JSON-RPC URL in the card. Agents other than profiles may serve it under another path. */
  readonly rpcUrl?: string | undefined;
  /** Ms since the epoch. */
  readonly readAt: number;
}

/** The tasks of this profile at a peer, beside what the peer's announce says. */
export interface PeerSlots {
  /** Tasks that the last announce does not include yet, minus tasks in it that have left since. */
  readonly unannounced: number;
  /** Tasks that the peer has not started, as far as is known. */
  readonly submitted: number;
  /** Tasks among them that wait there for a slot. */
  readonly waiting: number;
  /** The most tasks that were seen to run there at the same time. */
  readonly mostRunning: number;
  /** The end of the pause after a refusal for want of a slot, ms since the epoch. */
  readonly fullUntil: number;
  /** The peer has refused for want of a slot and taken nothing since. */
  readonly onTrial: boolean;
  /** Tasks that the peer has not acknowledged yet. */
  readonly untaken: number;
}

/** A snapshot of a peer: its address, its last announce, and its health. */
export interface PeerProfile {
  readonly name: string;
  /** `configured`: fleet.yaml lists it; `joined`: it joined with the scope `join`; `known`: it only announced itself. */
  readonly standing: 'configured' | 'joined' | 'known';
  /** Undefined until the card was read. */
  readonly card: PeerCard | undefined;
  /** Undefined for a `known` peer, which is never routed to. */
  readonly endpoint: PeerEndpoint | undefined;
  /** True for a joined worker that is leaving: it finishes what it has, and gets no new work. */
  readonly leaving?: boolean;
  readonly announce: SessionAnnounce | undefined;
  /** Arrival of the announce, ms since the epoch. */
  readonly receivedAt: number | undefined;
  /** The end of the open circuit, ms since the epoch; 0 if the circuit is closed. */
  readonly circuitOpenUntil: number;
  /** Tasks that this profile has at the peer now. */
  readonly inFlight: number;
  readonly slots?: PeerSlots;
  /** The configured limit of tasks at the peer, for a peer that announces none. */
  readonly maxTasks?: number | undefined;
  /** Share of recent dispatches that the peer refused, 0 to 1. */
  readonly blockedRate: number;
  /** Average recent latency to accept a dispatch, ms; 0 while unknown. */
  readonly latencyMs: number;
}

/** True if the peer's announce has not expired at `now`. */
export function isLive(peer: Pick<PeerProfile, 'announce' | 'receivedAt'>, now: number): boolean {
  if (!peer.announce || peer.receivedAt === undefined) return false;
  const ttlS = Math.min(peer.announce.ttlS ?? DEFAULT_TTL_S, MAX_TTL_S);
  return isWithin(peer.receivedAt, ttlS * 1000, now);
}

/** A greater difference is a wrong clock or a wrong `sent_at`. */
const MAX_CLOCK_OFFSET_MS = 86_400_000;

/**
 * How far the peer's clock is ahead of ours by its last announce, ms; undefined while unknown. The time that the announce
 * was under way makes it smaller, and never greater.
 */
export function clockOffsetOf(
  peer: Pick<PeerProfile, 'announce' | 'receivedAt'> | undefined,
): number | undefined {
  const { announce, receivedAt } = peer ?? {};
  if (announce?.sentAt === undefined || receivedAt === undefined) return undefined;
  const offsetMs = Date.parse(announce.sentAt) - receivedAt;
  return Math.abs(offsetMs) <= MAX_CLOCK_OFFSET_MS ? offsetMs : undefined;
}

/** True if `at` is at most `ms` ago. A time that lies further ahead is out of range too: the clock was set back. */
export function isWithin(at: number, ms: number, now: number): boolean {
  return Math.abs(now - at) <= ms;
}

/** Lifetime of an agent card after it was read. */
export const CARD_TTL_MS = 90_000;

/**
 * True if tasks for the peer are sent as text: its card is current and does not declare the handshake. Such a peer may
 * write an announce into its replies; its tasks are sent as text nevertheless (docs/handshake.md#to-a-prose-peer).
 */
export function takesProse({ card }: Pick<PeerProfile, 'card'>, now: number): boolean {
  return card !== undefined && !card.handshake && isWithin(card.readAt, CARD_TTL_MS, now);
}

/** True if routing treats the peer as a prose peer: it takes text, and has no live announce. */
export function isProsePeer(
  peer: Pick<PeerProfile, 'announce' | 'receivedAt' | 'card'>,
  now: number,
): boolean {
  return takesProse(peer, now) && !isLive(peer, now);
}
