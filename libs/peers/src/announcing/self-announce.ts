import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { isLoopback, listenerUrl, normalizePeerUrl } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import {
  answerVersion,
  encodeAnnounce,
  HANDSHAKE_EXTENSION,
  type JsonObject,
  type McpHealth,
  type ModelInfo,
  PROTOCOL_VERSION,
  type SessionAnnounce,
  versionOf,
} from '@hermes-fleet/protocol';

/** Tasks whose fresh context is remembered, so that their reply can carry the announce. */
const MAX_FRESH = 1_000;

/** What this profile says of itself, each time with the next sequence. */
export interface SelfAnnounce {
  /** From what was measured last. */
  now(): SessionAnnounce;
  /** As metadata for the reply to a task that opens a fresh context; `metadataFor` gives it again from then on. */
  remember(taskId: string): JsonObject;
  /** Undefined for a task that opened no fresh context. */
  metadataFor(taskId: string): JsonObject | undefined;
}

export interface SelfAnnounceOptions {
  /** Of this start; a UUIDv7. */
  readonly instanceId: string;
  readonly versions: readonly string[];
  readonly ledger: Pick<Ledger, 'get'>;
  readonly snapshot: () => Omit<ProfileSnapshot, 'instanceId' | 'seq' | 'versions'>;
}

export function createSelfAnnounce(options: SelfAnnounceOptions): SelfAnnounce {
  const fresh = new Set<string>();
  let seq = 0;

  function now(): SessionAnnounce {
    seq += 1;
    return buildAnnounce({
      ...options.snapshot(),
      versions: options.versions,
      instanceId: options.instanceId,
      seq,
    });
  }

  function metadata(taskId: string): JsonObject {
    const record = options.ledger.get(taskId);
    const protocolVersion = answerVersion(record ? versionOf(record.dispatch) : '', options.versions);
    return announceMetadata({ ...now(), protocolVersion }, record?.contextId ?? '');
  }

  return {
    now,
    remember(taskId) {
      for (const oldest of fresh) {
        if (fresh.size < MAX_FRESH) break;
        fresh.delete(oldest);
      }
      fresh.add(taskId);
      return metadata(taskId);
    },
    metadataFor: (taskId) => (fresh.has(taskId) ? metadata(taskId) : undefined),
  };
}

/** What an announce is made of, read at the moment it is made. */
interface ProfileSnapshot {
  /** The handshake versions that this profile speaks. */
  readonly versions: readonly string[];
  readonly profile: string;
  readonly config: FleetConfig;
  readonly model: ModelInfo;
  readonly tools: readonly string[];
  readonly mcpHealth: Readonly<Record<string, McpHealth>>;
  readonly repoState: { readonly branch: string; readonly clean: boolean };
  readonly activeTasks: number;
  readonly queuedTasks: number;
  readonly sessionFresh: boolean;
  readonly ready: boolean;
  readonly instanceId: string;
  readonly seq: number;
  readonly now: number;
}

/** This profile's SESSION_ANNOUNCE (design 2). `session.context_id` is set by whoever knows the addressee. */
function buildAnnounce(facts: ProfileSnapshot): SessionAnnounce {
  const { fleet } = facts.config;
  const endpoint = ownEndpoint(facts.config);
  return {
    type: 'SESSION_ANNOUNCE',
    protocolVersion: facts.versions[0] ?? PROTOCOL_VERSION,
    worker: {
      agentId: facts.profile,
      model: facts.model.id,
      modelTier: facts.model.tier,
      contextWindow: facts.model.contextWindow,
    },
    capabilities: { tools: [...facts.tools], mcpServers: Object.keys(facts.mcpHealth) },
    mcpHealth: { ...facts.mcpHealth },
    session: {
      contextId: `handshake:hermes-${facts.profile}`,
      activeTasks: facts.activeTasks,
      repoState: { branch: facts.repoState.branch, clean: facts.repoState.clean },
      sessionFresh: facts.sessionFresh,
    },
    protocolVersions: [...facts.versions],
    role: fleet.role,
    ...(fleet.purpose === undefined ? {} : { purpose: fleet.purpose }),
    ready: facts.ready,
    ...(endpoint === undefined ? {} : { endpoint }),
    limits: {
      maxConcurrentTasks: fleet.limits.max_concurrent_tasks,
      queueDepth: fleet.limits.queue_depth,
      queuedTasks: facts.queuedTasks,
    },
    ttlS: fleet.announce.ttl_s,
    sentAt: new Date(facts.now).toISOString(),
    seq: facts.seq,
    instanceId: facts.instanceId,
  };
}

/** An announce as the metadata of a Task reply. */
function announceMetadata(announce: SessionAnnounce, contextId: string): JsonObject {
  return {
    [HANDSHAKE_EXTENSION]: encodeAnnounce({ ...announce, session: { ...announce.session, contextId } }),
  };
}

/** Where peers reach this profile: `public_url`, else the bind address where that is one that can be dialled. */
function ownEndpoint(config: FleetConfig): string | undefined {
  const { server } = config.fleet;
  if (!server) return undefined;
  if (server.public_url !== undefined) return normalizePeerUrl(server.public_url);
  if (!isLoopback(server.bind_host)) return undefined;
  return listenerUrl(server.bind_host, server.bind_port);
}
