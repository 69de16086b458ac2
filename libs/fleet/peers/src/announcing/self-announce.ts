import type { FleetConfig } from '@hermes-fleet/fleet-config';
import { isLoopback, listenerUrl, normalizePeerUrl } from '@hermes-fleet/fleet-config';
import type { TaskRecord } from '@hermes-fleet/ledger';
import {
  answerVersion,
  HANDSHAKE_EXTENSION,
  type JsonObject,
  PROTOCOL_VERSION,
} from '@hermes-fleet/protocol';
import {
  encodeAnnounce,
  type McpHealth,
  type ModelHealth,
  type SessionAnnounce,
  versionOf,
} from '@hermes-fleet/protocol/handshake';
import type { ModelInfo, RepoState } from '@hermes-fleet/protocol/ports';

/** The largest number of remembered tasks. */
const MAX_REMEMBERED = 1_000;

/** The context of the addressee of an announce, and the version that it reads. */
interface Addressed {
  readonly contextId: string;
  readonly protocolVersion: string;
}

/** Builds this profile's announces, each with the next `seq`. `instanceId`: a UUIDv7, new at every start. */
export function createSelfAnnounce(options: {
  readonly instanceId: string;
  readonly versions: readonly string[];
  readonly snapshot: () => ProfileSnapshot;
}) {
  const { instanceId, versions } = options;
  const remembered = new Map<string, Addressed>();
  let seq = 0;
  let endpoint: { readonly url: string | undefined } | undefined;

  /** Builds a SESSION_ANNOUNCE (docs/handshake.md#session_announce). The announcer sets `session.context_id` per addressee. */
  function next(addressed?: Addressed): SessionAnnounce {
    seq += 1;
    const facts = options.snapshot();
    const { fleet } = facts.config;
    // The configuration of a process does not change.
    endpoint ??= { url: ownEndpoint(facts.config) };
    return {
      type: 'SESSION_ANNOUNCE',
      protocolVersion: addressed?.protocolVersion ?? versions[0] ?? PROTOCOL_VERSION,
      worker: {
        agentId: facts.profile,
        model: facts.model.id,
        modelTier: facts.model.tier,
        contextWindow: facts.model.contextWindow,
      },
      capabilities: { tools: [...facts.tools], mcpServers: Object.keys(facts.mcpHealth) },
      mcpHealth: { ...facts.mcpHealth },
      session: {
        contextId: addressed?.contextId ?? `handshake:hermes-${facts.profile}`,
        activeTasks: facts.activeTasks,
        repoState: {
          branch: facts.repoState.branch,
          clean: facts.repoState.clean,
          inUse: facts.repoState.clean ? undefined : (facts.repoState.inUse ?? false),
          baseClean: facts.repoState.baseClean,
          health: facts.repoState.problem === undefined ? 'ok' : 'down',
        },
        sessionFresh: facts.sessionFresh,
      },
      protocolVersions: [...versions],
      role: fleet.role,
      purpose: fleet.purpose,
      ready: facts.ready,
      endpoint: endpoint.url,
      limits: {
        maxConcurrentTasks: fleet.limits.max_concurrent_tasks,
        queueDepth: fleet.limits.queue_depth,
        queuedTasks: facts.queuedTasks,
        freeSlots: facts.freeSlots,
      },
      modelHealth: facts.modelHealth,
      ttlS: fleet.announce.ttl_s,
      sentAt: new Date(facts.now).toISOString(),
      seq,
      instanceId,
    } satisfies Whole<SessionAnnounce>;
  }

  return {
    /** Returns an announce with the last measured state. */
    now: (): SessionAnnounce => next(),
    /** Remembers a task that opened a fresh context, or was refused. */
    remember({ id, contextId, dispatch }: Pick<TaskRecord, 'id' | 'contextId' | 'dispatch'>): void {
      if (remembered.size >= MAX_REMEMBERED) {
        const [oldest = ''] = remembered.keys();
        remembered.delete(oldest);
      }
      const protocolVersion = answerVersion(versionOf(dispatch), versions);
      remembered.set(id, { contextId, protocolVersion });
    },
    /** Returns an announce as metadata for a reply about a remembered task. */
    metadataFor(taskId: string): JsonObject | undefined {
      const task = remembered.get(taskId);
      return task && { [HANDSHAKE_EXTENSION]: encodeAnnounce(next(task)) };
    },
  };
}

/** The state of this profile that an announce reports. */
interface ProfileSnapshot {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly model: ModelInfo;
  readonly tools: readonly string[];
  readonly mcpHealth: Readonly<Record<string, McpHealth>>;
  readonly modelHealth?: ModelHealth;
  readonly repoState: RepoState;
  readonly activeTasks: number;
  readonly queuedTasks: number;
  readonly freeSlots: number;
  readonly sessionFresh: boolean;
  readonly ready: boolean;
  readonly now: number;
}

/** Every field, also one that an announce may leave out. */
type Whole<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof Required<T>]: Whole<T[K]> }
    : T;

/** The address of this profile for its peers: `public_url`, else the bind address if it is loopback. */
function ownEndpoint(config: FleetConfig): string | undefined {
  const { server } = config.fleet;
  if (!server) return undefined;
  if (server.public_url !== undefined) return normalizePeerUrl(server.public_url);
  if (!isLoopback(server.bind_host)) return undefined;
  return listenerUrl(server, server.bind_host);
}
