import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { countIn, textIn, textsIn } from '../projection/fields.ts';
import { iso } from '../read-model/task-rows.ts';
import type { PeerRow } from './api.ts';

const MAX_PEERS = 500;
const MAX_MCP = 50;
/** `GET /fleet/peers` of a version that does not tell it. */
const DEFAULT_TTL_S = 90;

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
  const { announce, age_s: age } = row;
  if (!isJsonObject(announce) || typeof age !== 'number') return null;
  const repository = isJsonObject(announce.repo_state) ? announce.repo_state : {};
  const branch = textIn(repository.branch, 200);
  const health = isJsonObject(announce.mcp_health) ? announce.mcp_health : {};
  return {
    role: textIn(announce.role, 200),
    endpoint: textIn(row.endpoint),
    ready: announce.ready !== false,
    model: textIn(announce.model) ?? 'unknown',
    model_tier: textIn(announce.model_tier) ?? 'unknown',
    model_health: textIn(announce.model_health, 32),
    context_window: countIn(announce.context_window) ?? 0,
    mcp: Object.entries(health)
      .slice(0, MAX_MCP)
      .map(([server, state]) => ({
        name: server.slice(0, 100).toWellFormed(),
        health: textIn(state, 32) ?? 'unknown',
      })),
    tools: textsIn(announce.tools),
    active_tasks: countIn(announce.active_tasks) ?? 0,
    max_tasks: countIn(announce.max_concurrent_tasks),
    queued_tasks: countIn(announce.queued_tasks),
    queue_depth: countIn(announce.queue_depth),
    free_slots: countIn(announce.free_slots),
    repository:
      branch === null
        ? null
        : { branch, clean: repository.clean === true, health: textIn(repository.health, 32) },
    announced_at: iso(now - Math.round(age * 1000)),
    ttl_s: countIn(announce.ttl_s) || DEFAULT_TTL_S,
  };
}
