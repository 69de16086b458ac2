import { z } from 'zod';
import { type Camel, toCamel } from '../wire/casing.ts';
import { decodeWith, encodeWith } from '../wire/codec.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json.ts';
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
  clean: z.boolean().describe('True if a task gets a tree without uncommitted changes'),
  in_use: z
    .boolean()
    .optional()
    .describe('True if a task made the changes and commits them at its end; missing if the tree is clean'),
  base_clean: z
    .boolean()
    .optional()
    .describe('False if the repository has uncommitted changes; missing without workspace.path'),
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

type Shape = typeof SessionAnnounceWire.shape;
type Section = 'worker' | 'capabilities' | 'session' | 'limits';
type InSection = {
  worker: keyof typeof worker.shape;
  capabilities: keyof typeof capabilities.shape;
  session: keyof typeof session.shape;
  limits: keyof typeof limits.shape;
};
type Field = Exclude<keyof Shape, Section> | { [S in Section]: `${S}.${InSection[S]}` }[Section];

/**
 * What a field is for. `routing`: a change of it can change where a task goes. The others see it of a peer: an `operator`
 * in `GET /fleet/peers` and the console, a `caller` in the extended card, a `model` in the tool `fleet_peers`.
 */
type Use = 'routing' | 'operator' | 'caller' | 'model';

/** The uses of every field. The compiler names one that is missing. */
const USES = {
  type: [],
  protocol_version: ['routing'],
  'worker.agent_id': [],
  'worker.model': ['routing', 'operator'],
  'worker.model_tier': ['routing', 'operator', 'caller', 'model'],
  'worker.context_window': ['routing', 'operator', 'model'],
  'capabilities.tools': ['routing', 'operator'],
  'capabilities.mcp_servers': ['routing'],
  mcp_health: ['routing', 'operator'],
  'session.context_id': [],
  'session.active_tasks': ['routing', 'operator', 'model'],
  'session.repo_state': ['routing', 'operator'],
  'session.session_fresh': ['routing'],
  protocol_versions: ['routing', 'operator'],
  role: ['routing', 'operator', 'caller', 'model'],
  purpose: ['caller', 'model'],
  ready: ['routing', 'operator'],
  endpoint: [],
  'limits.max_concurrent_tasks': ['routing', 'operator', 'model'],
  'limits.queue_depth': ['routing', 'operator'],
  'limits.queued_tasks': ['routing', 'operator'],
  // Routing follows the capacity that results from it.
  'limits.free_slots': ['operator'],
  model_health: ['routing', 'operator'],
  ttl_s: ['operator'],
  sent_at: [],
  seq: [],
  instance_id: ['routing'],
} as const satisfies Readonly<Record<Field, readonly Use[]>>;

type For<U extends Use> = { [F in Field]: U extends (typeof USES)[F][number] ? F : never }[Field];

type NameOf<F extends Field> = F extends `${string}.${infer Inner}` ? Inner : F;
type Wire = z.output<typeof SessionAnnounceWire>;
type ValueOf<F extends Field> = F extends `${infer S extends Section}.${infer K}`
  ? Exclude<Wire[S], undefined>[K] | (undefined extends Wire[S] ? undefined : never)
  : Wire[F];

/** The fields for a use, by their last names on the wire; null where the announce has none. */
export type AnnounceView<U extends Use> = {
  [F in For<U> as NameOf<F>]:
    | Camel<Exclude<ValueOf<F>, undefined>>
    | (undefined extends ValueOf<F> ? null : never);
};

export const announceView = <U extends Use>(use: U, announce: SessionAnnounce): AnnounceView<U> =>
  viewOf(use, announce, toCamel) as AnnounceView<U>;

/** The same of an announce that is missing or not decoded: its values may be of any type. */
export const undecodedView = <U extends Use>(
  use: U,
  announce: unknown,
): { [F in For<U> as NameOf<F>]: JsonValue } =>
  viewOf(use, announce, (key) => key) as { [F in For<U> as NameOf<F>]: JsonValue };

function viewOf(use: Use, announce: unknown, toKey: (key: string) => string): Record<string, unknown> {
  const view: Record<string, unknown> = {};
  for (const [field, uses] of Object.entries<readonly Use[]>(USES)) {
    if (!uses.includes(use)) continue;
    const path = field.split('.');
    let value = announce;
    for (const key of path) value = isJsonObject(value) ? value[toKey(key)] : undefined;
    view[path.at(-1) ?? ''] = value ?? null;
  }
  return view;
}

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
