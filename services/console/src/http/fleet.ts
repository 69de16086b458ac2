import type { ApiClient } from '@hermes-fleet/net/api';
import { FLEET } from '@hermes-fleet/protocol/api';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { integer, json, type Queries, type Store, text } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import type { ProfileAddress } from '../profiles/client.ts';
import type { AnnouncedRow } from '../projection/announce.ts';
import { iso } from '../read-model/task-rows.ts';
import { sessionOf } from '../session/guard.ts';
import type { Session } from '../session/sessions.ts';
import type { FleetDocument, PeerRow } from './api.ts';
import { type EntryPeer, entryPeers } from './entry-peers.ts';

const MAX_PEERS = 500;
/** The view does not wait longer for what only the entry profile knows. */
const PEERS_MS = 1_000;

export interface FleetOptions {
  readonly store: Pick<Store, 'read'>;
  readonly client: ApiClient;
  readonly entry: ProfileAddress;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/**
 * `GET /api/fleet`: what each member announced last and, with a token, what the entry profile knows of its peers: their
 * circuits, how they belong to the fleet, and those that do not announce themselves on the bus.
 */
export function registerFleet(scope: FastifyInstance, options: FleetOptions): void {
  scope.get('/api/fleet', async (request): Promise<FleetDocument> => {
    const known = await entryPeersOf(sessionOf(request), options);
    return options.store.read((db) => fleetDocument(db, known));
  });
}

/** The peers of the entry profile; empty without a token, and where the profile does not answer. */
async function entryPeersOf(
  { held }: Session,
  { client, entry, clock, log }: FleetOptions,
): Promise<ReadonlyMap<string, EntryPeer>> {
  if (held === undefined) return new Map();
  try {
    const service = { ...entry, token: held.token };
    const { peers } = await client.call(service, FLEET.peers, { timeoutMs: PEERS_MS });
    return entryPeers(peers.slice(0, MAX_PEERS), clock.now());
  } catch (err) {
    log.debug({ err, profile: entry.name }, 'the peers of the entry profile are not known');
    return new Map();
  }
}

/** What each member announced last, on the bus or to the entry profile. */
function fleetDocument(db: Queries, known: ReadonlyMap<string, EntryPeer>): FleetDocument {
  const rows = db.all('SELECT name, at, announce FROM peers ORDER BY name LIMIT ?', MAX_PEERS);
  const onBus = rows.map((row): PeerRow => {
    const name = text(row, 'name');
    const { circuit = null, standing = null } = known.get(name) ?? {};
    // The projection wrote these fields, and only it.
    const announce = json(row, 'announce') as unknown as AnnouncedRow;
    return { name, ...announce, announced_at: iso(integer(row, 'at')), circuit, standing };
  });
  const names = new Set(onBus.map(({ name }) => name));
  const others = [...known].flatMap(([name, { announced, circuit, standing }]): PeerRow[] =>
    announced === null || names.has(name) ? [] : [{ name, ...announced, circuit, standing }],
  );
  return { peers: [...onBus, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}
