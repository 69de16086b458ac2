import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { isLoopback, listenerUrl, normalizePeerUrl } from '@hermes-fleet/fleet-config';
import {
  encodeAnnounce,
  HANDSHAKE_EXTENSION,
  type JsonObject,
  type McpHealth,
  type ModelInfo,
  PROTOCOL_VERSION,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';

/** What an announce is made of, read at the moment it is made. */
export interface SelfFacts {
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
export function buildAnnounce(facts: SelfFacts): SessionAnnounce {
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
export function announceMetadata(announce: SessionAnnounce, contextId: string): JsonObject {
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
