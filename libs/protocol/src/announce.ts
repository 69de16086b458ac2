import { z } from 'zod';
import type { Camel } from './casing.ts';
import { decodeWith, encodeWith } from './codec.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { reported } from './reported.ts';
import { isCompatible, majorOf, ProtocolVersion } from './version.ts';

export const McpHealth = reported(['ok', 'timeout', 'error', 'disabled'], 'error');
export type McpHealth = z.infer<typeof McpHealth>;

/** More than any fleet will ever speak; of a foreign announce no more of them are looked at. */
const MAX_VERSIONS = 100;

const count = z.int().nonnegative();
const name = z.string().min(1);

const worker = z.looseObject({
  agent_id: z.string().min(1).max(128).describe("The profile's name"),
  model: name.describe('Its model'),
  model_tier: name.describe('The tier of that model, from the ordered list that the fleet has agreed on'),
  context_window: count.describe('Tokens'),
});

const capabilities = z.looseObject({
  tools: z.array(name).max(1000).describe('What it can do: terminal, file, patch, and tools by their names'),
  mcp_servers: z.array(name).max(1000).describe('The MCP servers that it has'),
});

const repoState = z.looseObject({
  branch: z.string().describe('Of its base repository, measured with git'),
  clean: z.boolean().describe('Whether nothing is uncommitted there'),
});

const session = z.looseObject({
  context_id: z.string().describe('The context of this exchange'),
  active_tasks: count.describe('Tasks that run there; not those that wait'),
  repo_state: repoState.describe('Its working tree'),
  session_fresh: z.boolean().describe('Whether no task has run since it started'),
});

const limits = z.looseObject({
  max_concurrent_tasks: z.int().positive().describe('How many tasks run at a time'),
  queue_depth: count.describe('How many tasks may wait'),
  queued_tasks: count.describe('How many tasks wait'),
});

/** Message 1 of the handshake, as the source document writes it; optional fields after `session` are ours. */
export const SessionAnnounceWire = z
  .looseObject({
    type: z.literal('SESSION_ANNOUNCE').describe('Tells the three messages apart'),
    protocol_version: ProtocolVersion.describe('The version of this message'),
    worker: worker.describe('Who announces itself'),
    capabilities: capabilities.describe('What works there now'),
    mcp_health: z.record(z.string(), McpHealth).describe('The health of each MCP server, as measured'),
    session: session.describe('How it stands'),
    protocol_versions: z
      .array(ProtocolVersion)
      .max(MAX_VERSIONS)
      .optional()
      .describe('Every version that it speaks'),
    role: z.string().max(200).optional().describe('What it is in the fleet'),
    purpose: z.string().max(2000).optional().describe('What it is there for'),
    ready: z.boolean().optional().describe('Whether it takes new work; false while it stops'),
    endpoint: z
      .url({ protocol: /^https?$/ })
      .optional()
      .meta({ description: 'Where it takes A2A messages', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' }),
    limits: limits.optional().describe('How much it takes'),
    ttl_s: z.number().positive().optional().describe('Seconds to trust this; 90 where it is missing'),
    sent_at: z.iso.datetime({ offset: true }).optional().describe('When it was sent'),
    seq: count.optional().describe('Grows with every announce of one instance'),
    instance_id: z.string().min(1).max(128).optional().describe('UUIDv7 of this start; the greater one wins'),
  })
  .meta({ title: 'SESSION_ANNOUNCE', description: 'What a profile can do, before any work is sent to it' });

export type SessionAnnounce = Camel<z.output<typeof SessionAnnounceWire>>;

/** Reads a SESSION_ANNOUNCE from the wire; INVALID_PARAMS names every wrong field. */
export function decodeAnnounce(wire: unknown): SessionAnnounce {
  return decodeWith(SessionAnnounceWire, wire);
}

export function encodeAnnounce(announce: SessionAnnounce): JsonObject {
  return encodeWith(SessionAnnounceWire, announce);
}

/** Every version that the sender of an announce speaks, as far as it says so. */
export function spokenVersions(announce: SessionAnnounce): readonly string[] {
  const { protocolVersion, protocolVersions = [] } = announce;
  return protocolVersions.length > 0 ? protocolVersions : [protocolVersion];
}

/** A SESSION_ANNOUNCE as it can be judged: understood, or of a major version of which only the versions can be read. */
export type AnnounceReading =
  | { readonly kind: 'announce'; readonly announce: SessionAnnounce }
  | { readonly kind: 'foreign'; readonly versions: readonly string[] };

/**
 * Reads a SESSION_ANNOUNCE for who speaks `spoken`. `type`, `protocol_version` and `protocol_versions` mean the same in
 * every version; of a foreign major nothing else is looked at (design 2, Versions). INVALID_PARAMS as in decodeAnnounce.
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

/** What can be kept of a peer whose announce is of a foreign major: who it is, and which versions it speaks. */
export function foreignAnnounce(agentId: string, versions: readonly string[]): SessionAnnounce {
  return {
    type: 'SESSION_ANNOUNCE',
    protocolVersion: versions[0] ?? '',
    // The version rules it out; a window that nobody knows should not look like a second reason.
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
