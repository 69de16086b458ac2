import { type AgentConfig, type AgentOptions, mcpToolSource } from '@hermes-fleet/agent';
import {
  createA2ATools,
  createFleetRemotes,
  createFleetTools,
  createHandOver,
  createRegisteredAgents,
  joinRemotes,
  type PeerWork,
  peersSummary,
} from '@hermes-fleet/fleet';
import type { FleetConfig } from '@hermes-fleet/fleet-config';
import type { McpPool } from '@hermes-fleet/mcp';
import type { PeerRegistry } from '@hermes-fleet/peers';
import type { Clock, Log, Tool } from '@hermes-fleet/protocol';
import type { SecretEnv } from '@hermes-fleet/service';

/** The MCP server that gives the capability `browser`. */
const BROWSER = 'browser';

export interface OutsideOptions {
  readonly profile: string;
  readonly fleet: FleetConfig;
  readonly config: AgentConfig;
  readonly peers: PeerRegistry;
  /** Asked at each call: the gateway is put together after its agent. */
  readonly work: () => PeerWork;
  readonly mcp: McpPool;
  readonly env: SecretEnv;
  readonly clock: Clock;
  readonly log: Log;
}

/** What an agent gets from outside itself, and what is to be said of it at start. */
export interface Outside {
  readonly options: Pick<AgentOptions, 'toolSources' | 'remotes' | 'outsideCapabilities' | 'peersSummary'>;
  readonly notes: readonly string[];
}

/** The fleet, registered A2A agents and MCP servers, as tools and as agents to delegate to (design 3, Tools). */
export function outsideOf(o: OutsideOptions): Outside {
  const { profile, config, peers, work, clock, log } = o;
  const { tools } = config;
  const { orchestrate, limits, tiers } = o.fleet.fleet;
  const handOver = createHandOver({
    profile,
    work,
    log,
    orchestrates: orchestrate,
    maxAtATime: limits.max_relayed_tasks,
  });
  const registered = config.a2a.enabled ? config.a2a.agents : {};
  const a2aOptions = { agents: registered, env: o.env, clock, log };
  const fleetTools = tools.fleet.enabled ? createFleetTools({ profile, peers, work, handOver, clock }) : [];
  const a2aTools = tools.a2a.enabled ? createA2ATools(a2aOptions) : [];
  const usable = (): readonly Tool[] =>
    peers.list().some(({ endpoint }) => endpoint) ? [...fleetTools, ...a2aTools] : a2aTools;
  const hasBrowser = (): boolean => tools.mcp.enabled && o.mcp.health()[BROWSER]?.state === 'ok';
  // Registered agents first: they are always there, so that a name means the same whoever is live.
  const remotes = joinRemotes(
    createRegisteredAgents(a2aOptions),
    createFleetRemotes({ peers, handOver, clock }),
  );
  return {
    options: {
      toolSources: [async () => usable(), mcpToolSource(o.mcp, config, { clock, log })],
      remotes,
      outsideCapabilities: () => [...(hasBrowser() ? [BROWSER] : []), ...usable().map(({ name }) => name)],
      peersSummary: () => peersSummary(peers, tiers, clock.now()),
    },
    notes: Object.keys(registered)
      .filter((name) => name in o.fleet.fleet.agents)
      .map(
        (name) =>
          `${name} is a registered A2A agent and a peer: delegate goes to the agent, fleet_send to the peer; give one of them another name`,
      ),
  };
}
