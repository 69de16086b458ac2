import type { FleetConfig } from '@hermes-fleet/fleet-config';
import {
  createA2ATools,
  createFleetTools,
  createPeerAgents,
  createRegisteredAgents,
  createSubtaskDelegation,
  mergeRemoteAgents,
  peersSummary,
  type SubtaskRunner,
} from '@hermes-fleet/gateway';
import {
  type AgentConfig,
  type AllowedNetwork,
  createMcpTools,
  type McpTools,
  type OutsideTools,
} from '@hermes-fleet/loop';
import type { McpPool } from '@hermes-fleet/mcp';
import type { PeerRegistry } from '@hermes-fleet/peers';
import type { Clock, Log, Tool, Tracing } from '@hermes-fleet/protocol/ports';
import type { SecretEnv } from '@hermes-fleet/service';

/** The MCP server that gives the capability `browser`. */
const BROWSER = 'browser';

export interface ExternalToolsOptions {
  readonly profile: string;
  readonly fleet: FleetConfig;
  readonly config: AgentConfig;
  readonly peers: PeerRegistry;
  /** Called by each tool call, because the gateway is created after its agent. */
  readonly subtasks: () => SubtaskRunner;
  readonly mcp: McpPool;
  readonly network?: AllowedNetwork | undefined;
  readonly env: SecretEnv;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
}

export interface ExternalTools {
  readonly tools: OutsideTools;
  readonly mcp: Pick<McpTools, 'examine' | 'leftOut'>;
  /** Logged at start. */
  readonly notes: readonly string[];
}

/** Offers the fleet, registered A2A agents and MCP servers as tools, and as agents for `delegate` (docs/agent.md#tools). */
export function createExternalTools(options: ExternalToolsOptions): ExternalTools {
  const { profile, config, peers, subtasks, mcp, network, clock, log, tracing } = options;
  const { tools } = config;
  const { orchestrate, limits, tiers, agents } = options.fleet.fleet;
  const delegateSubtask = createSubtaskDelegation({
    profile,
    subtasks,
    log,
    orchestrates: orchestrate,
    maxAtATime: limits.max_relayed_tasks,
  });
  const registered = config.a2a.enabled ? config.a2a.agents : {};
  const a2aOptions = { agents: registered, env: options.env, clock, log };
  const fleetTools = tools.fleet.enabled
    ? createFleetTools({ profile, peers, subtasks, delegateSubtask: delegateSubtask, clock })
    : [];
  const a2aTools = tools.a2a.enabled ? createA2ATools(a2aOptions) : [];
  const mcpTools = createMcpTools(mcp, config, { clock, log, tracing, network });
  const usable = (): readonly Tool[] =>
    peers.list().some(({ endpoint }) => endpoint) ? [...fleetTools, ...a2aTools] : a2aTools;
  const hasBrowser = (): boolean => tools.mcp.enabled && mcp.health()[BROWSER]?.state === 'ok';
  // Registered agents are always available, so they come first: a name then means the same whichever peers are live.
  const remotes = mergeRemoteAgents(
    createRegisteredAgents(a2aOptions),
    createPeerAgents({ peers, delegateSubtask, clock }),
  );
  return {
    mcp: mcpTools,
    tools: {
      sources: [async () => usable(), mcpTools.source],
      remotes,
      release: mcp.release,
      capabilities: () => [...(hasBrowser() ? [BROWSER] : []), ...usable().map(({ name }) => name)],
      peersSummary: () => peersSummary(peers, tiers, clock.now()),
    },
    notes: Object.keys(registered)
      .filter((name) => name in agents)
      .map(
        (name) =>
          `${name} is a registered A2A agent and a peer: delegate goes to the agent, fleet_send to the peer; give one of them another name`,
      ),
  };
}
