import { z } from 'zod';
import type { Camel } from '../wire/casing.ts';
import { decodeWith, encodeWith } from '../wire/codec.ts';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { reported } from '../wire/reported.ts';
import { isCompatible, majorOf, ProtocolVersion } from '../wire/version.ts';

export const McpHealth = reported(['ok', 'timeout', 'error', 'disabled'], 'error');
export type McpHealth = z.infer<typeof McpHealth>;

/** The measured health of a worker's model (docs/handshake.md#session_announce). An unknown word is read as `error`. */
export const ModelHealth = reported(['ok', 'timeout', 'error'], 'error');
export type ModelHealth = z.infer<typeof ModelHealth>;

const MAX_VERSIONS = 100;

const count = z.int().nonnegative();
const name = z.string().min(1);

const worker = z.looseObject({
  agent_id: z.string().min(1).max(128).describe('Name of the profile'),
  model: name.describe('Model of the profile'),
  model_tier: name.describe("Tier of the model, from the fleet's ordered list of tiers"),
  context_window: count.describe('Context window of the model, in tokens'),
});

const capabilities = z.looseObject({
  tools: z.array(name).max(1000).describe('Capabilities (terminal, file, patch) and names of tools'),
  mcp_servers: z.array(name).max(1000).describe('Names of the MCP servers'),
});

const repoState = z.looseObject({
  branch: z.string().describe('Current branch of the base repository, as git reports it'),
  clean: z.boolean().describe('True without uncommitted changes'),
  health: z
    .enum(['ok', 'down'])
    .optional()
    .describe('down if the profile cannot work with its repositories; ok if missing'),
});

const session = z.looseObject({
  context_id: z.string().describe('A2A context of this exchange'),
  active_tasks: count.describe('Running tasks, without waiting ones'),
  repo_state: repoState.describe('State of the base repository'),
  session_fresh: z.boolean().describe('True if no task has run since the profile started'),
});

const limits = z.looseObject({
  max_concurrent_tasks: z.int().positive().optional().describe('Maximum number of running tasks'),
  queue_depth: count.optional().describe('Maximum number of waiting tasks'),
  queued_tasks: count.optional().describe('Current number of waiting tasks'),
  free_slots: count.optional().describe('Number of tasks that can start now'),
});

/** Message 1 of the handshake (docs/handshake.md#session_announce). The fields after `session` are optional. */
export const SessionAnnounceWire = z
  .looseObject({
    type: z.literal('SESSION_ANNOUNCE').describe('Type of the message'),
    protocol_version: ProtocolVersion.describe('Version of the message'),
    worker: worker.describe('The announcing profile'),
    capabilities: capabilities.describe('Capabilities that work now'),
    mcp_health: z.record(z.string(), McpHealth).describe('Measured health of each MCP server'),
    session: session.describe('Current state of the profile'),
    protocol_versions: z
      .array(ProtocolVersion)
      .max(MAX_VERSIONS)
      .optional()
      .describe('Every version that the profile speaks'),
    role: z.string().max(200).optional().describe('Role of the profile in the fleet'),
    purpose: z.string().max(2000).optional().describe('Purpose of the profile'),
    ready: z.boolean().optional().describe('True if the profile takes new work; false during shutdown'),
    endpoint: z
      .url({ protocol: /^https?$/ })
      .optional()
      .meta({ description: 'URL that takes A2A messages', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' }),
    limits: limits.optional().describe('Capacity and load'),
    model_health: ModelHealth.optional().describe('Measured health of the model; unknown if missing'),
    ttl_s: z.number().positive().optional().describe('Validity in seconds; 90 if missing'),
    sent_at: z.iso.datetime({ offset: true }).optional().describe('Time of sending'),
    seq: count.optional().describe('Increases with every announce of an instance'),
    instance_id: z
      .uuidv7('must be a UUIDv7')
      .optional()
      .describe('UUIDv7 of this start of the profile; the greatest is current'),
  })
  .meta({
    title: 'SESSION_ANNOUNCE',
    description: 'The capabilities and state of a profile, before any work is sent',
  });

export type SessionAnnounce = Camel<z.output<typeof SessionAnnounceWire>>;

/** Decodes a SESSION_ANNOUNCE; INVALID_PARAMS names every invalid field. */
export function decodeAnnounce(wire: unknown): SessionAnnounce {
  return decodeWith(SessionAnnounceWire, wire);
}

export function encodeAnnounce(announce: SessionAnnounce): JsonObject {
  return encodeWith(SessionAnnounceWire, announce);
}

/** The versions that the sender of an announce declares. */
export function spokenVersions(announce: SessionAnnounce): readonly string[] {
  const { protocolVersion, protocolVersions = [] } = announce;
  return protocolVersions.length > 0 ? protocolVersions : [protocolVersion];
}

/** The time in a UUIDv7, in ms since the epoch. */
export function instanceTime(instanceId: string): number {
  return Number.parseInt(instanceId.replace('-', '').slice(0, 12), 16);
}

/** A decoded SESSION_ANNOUNCE, or only the versions of an announce of a foreign major version. */
export type AnnounceReading =
  | { readonly kind: 'announce'; readonly announce: SessionAnnounce }
  | { readonly kind: 'foreign'; readonly versions: readonly string[] };

/**
 * Reads a SESSION_ANNOUNCE as a speaker of the versions `spoken`. `type`, `protocol_version` and `protocol_versions`
 * mean the same in every version; other fields of a foreign major are not read (docs/handshake.md#versions). Throws
 * INVALID_PARAMS as `decodeAnnounce` does.
 */
export function readAnnounce(wire: unknown, spoken: readonly string[]): AnnounceReading {
  const { protocol_version: version, protocol_versions: listed } = isJsonObject(wire) ? wire : {};
  if (typeof version !== 'string' || majorOf(version) === undefined || isCompatible(version, spoken))
    return { kind: 'announce', announce: decodeAnnounce(wire) };
  const others = (Array.isArray(listed) ? listed.slice(0, MAX_VERSIONS) : []).filter(
    (other): other is string => typeof other === 'string' && majorOf(other) !== undefined,
  );
  return { kind: 'foreign', versions: [...new Set([version, ...others])] };
}

/** The record of a peer that announces in a foreign major version: only its name and versions are known. */
export function foreignAnnounce(agentId: string, versions: readonly string[]): SessionAnnounce {
  return {
    type: 'SESSION_ANNOUNCE',
    protocolVersion: versions[0] ?? '',
    // Only the version excludes the peer; an unknown context window must not be a second reason.
    worker: { agentId, model: 'unknown', modelTier: 'unknown', contextWindow: Number.MAX_SAFE_INTEGER },
    capabilities: { tools: [], mcpServers: [] },
    mcpHealth: {},
    session: {
      contextId: '',
      activeTasks: 0,
      repoState: { branch: '', clean: true },
      sessionFresh: false,
    },
    protocolVersions: [...versions],
  };
}
