import { isJsonObject, type Log } from '@hermes-fleet/protocol';
import { integer, json, type Queries, type Store, text } from '@hermes-fleet/store';
import type { FastifyInstance } from 'fastify';
import type { ProfileAddress, ProfileClient } from '../profiles/client.ts';
import { iso } from '../read-model/task-rows.ts';
import { sessionOf } from '../session/guard.ts';
import type { Session } from '../session/sessions.ts';
import type { FleetDocument, PeerRow } from './api.ts';

const MAX_PEERS = 500;
/** The view does not wait longer for what only the entry profile knows. */
const CIRCUITS_MS = 1_000;

export interface FleetOptions {
  readonly store: Pick<Store, 'read'>;
  readonly client: ProfileClient;
  readonly entry: ProfileAddress;
  readonly log: Log;
}

/** `GET /api/fleet`: what each member announced last and, with a token, the circuits of the entry profile. */
export function registerFleet(scope: FastifyInstance, options: FleetOptions): void {
  scope.get('/api/fleet', async (request): Promise<FleetDocument> => {
    const circuits = await circuitsOf(sessionOf(request), options);
    return options.store.read((db) => fleetDocument(db, circuits));
  });
}

/** The circuit of each peer of the entry profile; empty without a token, and where the profile does not answer. */
async function circuitsOf(
  { held }: Session,
  { client, entry, log }: FleetOptions,
): Promise<ReadonlyMap<string, string>> {
  if (held === undefined) return new Map();
  try {
    const { peers } = await client.call(entry, held.token, '/fleet/peers', undefined, CIRCUITS_MS);
    const rows = Array.isArray(peers) ? peers.slice(0, MAX_PEERS) : [];
    return new Map(
      rows.flatMap((row): [string, string][] =>
        isJsonObject(row) && typeof row.name === 'string' && typeof row.circuit === 'string'
          ? [[row.name, row.circuit.slice(0, 32)]]
          : [],
      ),
    );
  } catch (err) {
    log.debug({ err, profile: entry.name }, 'the circuits of the peers are not known');
    return new Map();
  }
}

/** What each member announced last. `circuits` is what the entry profile says of its peers, if it was asked. */
function fleetDocument(db: Queries, circuits: ReadonlyMap<string, string>): FleetDocument {
  const rows = db.all('SELECT name, at, announce FROM peers ORDER BY name LIMIT ?', MAX_PEERS);
  return {
    peers: rows.map((row) => {
      const name = text(row, 'name');
      // The projection wrote these fields, and only it.
      const announce = json(row, 'announce') as unknown as Omit<PeerRow, 'name' | 'announced_at' | 'circuit'>;
      return {
        name,
        ...announce,
        announced_at: iso(integer(row, 'at')),
        circuit: circuits.get(name) ?? null,
      };
    }),
  };
}
