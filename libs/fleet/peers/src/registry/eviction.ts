import { isLive } from '../peer-profile.ts';
import type { PeerEntry } from './peer-entry.ts';

/** The largest number of peers beside the configured ones and those that joined with a join token. */
export const MAX_UNCONFIGURED = 1_000;

/** Stands for the newcomer, which has no name yet. */
export const NEWCOMER = '';

type Named = readonly [string, PeerEntry];

/**
 * The name of the peer that makes room for a newcomer, or NEWCOMER where the others have precedence; undefined if there is
 * room. Peers without a task of ours go before peers with one, then stale before live ones, known before joined ones, and
 * the longest-silent peer first.
 */
export function peerToEvict(others: readonly Named[], newcomer: PeerEntry, now: number): string | undefined {
  if (others.length < MAX_UNCONFIGURED) return undefined;
  const all: readonly Named[] = [...others, [NEWCOMER, newcomer]];
  return all
    .map(([name, entry]) => ({ name, rank: retentionRank(entry, now) }))
    .reduce((least, each) => (isLess(each.rank, least.rank) ? each : least)).name;
}

function retentionRank(entry: PeerEntry, now: number): readonly number[] {
  return [
    entry.health.snapshot().inFlight > 0 ? 1 : 0,
    isLive(entry, now) ? 1 : 0,
    entry.joined ? 1 : 0,
    entry.receivedAt ?? 0,
  ];
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at !== -1 && (a[at] ?? 0) < (b[at] ?? 0);
}
