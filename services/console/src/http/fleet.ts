import type { Read } from '@hermes-fleet/net/api';
import { FLEET, type PeerState } from '@hermes-fleet/protocol/api';
import { integer, json, type Queries, text } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import { type AnnouncedRow, readAnnouncedRow } from '../projection/announce.ts';
import { iso } from '../read-model/task-rows.ts';
import { sessionOf } from '../session/guard.ts';
import type { Session } from '../session/sessions.ts';
import type { ApiOptions } from './options.ts';

const MAX_PEERS = 500;
/** The view does not wait longer for what only the entry profile knows. */
const PEERS_MS = 1_000;

type AnnouncedPeer = AnnouncedRow & { readonly announced_at: string };
export interface PeerRow extends AnnouncedPeer {
  readonly name: string;
  /** As `standing`, from `GET /fleet/peers` of the orchestrator with the session's token; null without one, or without an answer. */
  readonly circuit: string | null;
  readonly standing: string | null;
}

/** `GET /api/fleet`: what each member announced last. */
export interface FleetDocument {
  readonly peers: readonly PeerRow[];
}

/** What the entry profile says of its peers: of those that announce themselves on the bus, and of the others. */
interface EntryPeer {
  readonly circuit: string;
  readonly standing: string;
  /** The peer as it announced itself to the entry profile; null for one that has not. */
  readonly announced: AnnouncedPeer | null;
}

/**
 * `GET /api/fleet`: what each member announced last and, with a token, what the entry profile knows of its peers: their
 * circuits, how they belong to the fleet, and those that do not announce themselves on the bus.
 */
export function registerFleet(scope: FastifyInstance, options: ApiOptions): void {
  scope.get('/api/fleet', async (request): Promise<FleetDocument> => {
    const known = await entryPeersOf(sessionOf(request), options);
    return options.store.read((db) => fleetDocument(db, known));
  });
}

/** The peers of the entry profile; empty without a token, and where the profile does not answer. */
async function entryPeersOf(
  { held }: Session,
  { client, entry, clock, log }: ApiOptions,
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

/** The peers of `GET /fleet/peers` (docs/operations.md) by their names. */
export const entryPeers = (
  peers: readonly Read<typeof PeerState>[],
  now: number,
): ReadonlyMap<string, EntryPeer> =>
  new Map(
    peers.map(({ name, circuit, standing, announce, age_s: age, endpoint }) => {
      const announced =
        announce === null || age === null
          ? null
          : { ...readAnnouncedRow(announce, endpoint), announced_at: iso(now - Math.round(age * 1000)) };
      return [name, { circuit, standing, announced }];
    }),
  );
