import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { readAnnouncedRow } from '../projection/announce.ts';
import { textIn } from '../projection/fields.ts';
import { iso } from '../read-model/task-rows.ts';
import type { PeerRow } from './api.ts';

const MAX_PEERS = 500;

/** What the entry profile says of its peers: of those that announce themselves on the bus, and of the others. */
export interface EntryPeer {
  readonly circuit: string | null;
  readonly standing: string | null;
  /** The peer as it announced itself to the entry profile; null for one that has not. */
  readonly announced: Omit<PeerRow, 'name' | 'circuit' | 'standing'> | null;
}

/** Reads `GET /fleet/peers` (docs/operations.md). Fields of a wrong type count as absent. */
export function readEntryPeers(answer: JsonObject, now: number): ReadonlyMap<string, EntryPeer> {
  const rows = Array.isArray(answer.peers) ? answer.peers.slice(0, MAX_PEERS) : [];
  return new Map(
    rows.flatMap((row): [string, EntryPeer][] => {
      const name = isJsonObject(row) ? textIn(row.name, 100) : null;
      if (!isJsonObject(row) || name === null) return [];
      const peer = { circuit: textIn(row.circuit, 32), standing: textIn(row.standing, 32) };
      return [[name, { ...peer, announced: announcedIn(row, now) }]];
    }),
  );
}

function announcedIn(row: JsonObject, now: number): EntryPeer['announced'] {
  const { announce, age_s: age, endpoint } = row;
  if (!isJsonObject(announce) || typeof age !== 'number') return null;
  return { ...readAnnouncedRow(announce, endpoint), announced_at: iso(now - Math.round(age * 1000)) };
}
