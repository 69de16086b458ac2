import type { Read } from '@hermes-fleet/net/api';
import type { PeerState } from '@hermes-fleet/protocol/api';
import { readAnnouncedRow } from '../projection/announce.ts';
import { iso } from '../read-model/task-rows.ts';
import type { PeerRow } from './api.ts';

/** What the entry profile says of its peers: of those that announce themselves on the bus, and of the others. */
export interface EntryPeer {
  readonly circuit: string;
  readonly standing: string;
  /** The peer as it announced itself to the entry profile; null for one that has not. */
  readonly announced: Omit<PeerRow, 'name' | 'circuit' | 'standing'> | null;
}

type Peer = Read<typeof PeerState>;

/** The peers of `GET /fleet/peers` (docs/operations.md) by their names. */
export const entryPeers = (peers: readonly Peer[], now: number): ReadonlyMap<string, EntryPeer> =>
  new Map(
    peers.map((peer) => {
      const { name, circuit, standing } = peer;
      return [name, { circuit, standing, announced: announcedIn(peer, now) }];
    }),
  );

function announcedIn({ announce, age_s: age, endpoint }: Peer, now: number): EntryPeer['announced'] {
  if (announce === null || age === null) return null;
  return { ...readAnnouncedRow(announce, endpoint), announced_at: iso(now - Math.round(age * 1000)) };
}
