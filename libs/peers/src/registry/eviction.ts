import { isLive } from '../peer-profile.ts';
import type { PeerEntry } from './peer-entry.ts';

/**
 * Which of these peers is missed least: none with a task of ours before any other, then one that has expired before
 * one that is live, one that is only known before one that joined, and of equals the stalest.
 */
export function selectForEviction(peers: readonly (readonly [string, PeerEntry])[], now: number): string {
  const [first, ...rest] = peers.map(([name, entry]) => ({ name, rank: retentionRank(entry, now) }));
  if (!first) throw new RangeError('there is no peer to choose from');
  return rest.reduce((least, each) => (isLess(each.rank, least.rank) ? each : least), first).name;
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
