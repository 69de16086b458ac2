import { randomUUID } from 'node:crypto';
import { type PeerProfile, type RoutingPolicy, route } from '@hermes-fleet/peers';
import { decodeDispatch, type SessionAnnounce, type TaskDispatch } from '@hermes-fleet/protocol/handshake';
import { quantile } from '../frame/quantile.ts';

const TIERS = ['haiku', 'sonnet', 'opus'];
const POLICY: RoutingPolicy = {
  self: 'switch',
  versions: ['2.0'],
  tiers: TIERS,
  smallBelowTokens: 2_000,
  largeAboveTokens: 50_000,
};
const NOW = Date.now();
const WARM_UP = 300;

/** Latency of a routing decision, in ms. */
export interface RoutingLatency {
  readonly p50: number;
  readonly p99: number;
}

/** A fleet with every kind of peer: idle, busy, stale, dirty, unhealthy, and without the required server. */
export function mixedFleet(size: number): PeerProfile[] {
  return Array.from({ length: size }, (_, i) => peer(i, i % 10));
}

/** A fleet of equal peers, among which the hash of the task decides. */
export function equalFleet(size: number): PeerProfile[] {
  return Array.from({ length: size }, (_, i) => peer(i, 0));
}

/** Creates dispatches that require these MCP servers and capabilities. */
export function dispatchRequiring(
  mcp: readonly string[],
  capabilities: readonly string[],
): () => TaskDispatch {
  return () =>
    decodeDispatch({
      type: 'TASK_DISPATCH',
      protocol_version: '2.0',
      task: { task_id: randomUUID(), priority: 'normal', token_budget: 4_000 },
      requirements: { required_mcp: mcp, required_capabilities: capabilities },
      brief: 'anything',
    });
}

export function decisionTime(
  peers: readonly PeerProfile[],
  dispatch: () => TaskDispatch,
  runs: number,
): RoutingLatency {
  const samples: number[] = [];
  for (let run = -WARM_UP; run < runs; run += 1) {
    const next = dispatch();
    const startedAt = performance.now();
    route(next, peers, POLICY, NOW);
    if (run >= 0) samples.push(performance.now() - startedAt);
  }
  return { p50: quantile(samples, 0.5), p99: quantile(samples, 0.99) };
}

function peer(index: number, kind: number): PeerProfile {
  const name = `worker-${index}`;
  return {
    name,
    standing: 'joined',
    card: undefined,
    circuitOpenUntil: kind === 9 ? NOW + 1_000 : 0,
    endpoint: { name, url: `http://${name}:9220/jsonrpc` },
    announce: announce(name, kind),
    receivedAt: kind === 8 ? NOW - 100_000 : NOW,
    inFlight: kind === 1 ? 2 : 0,
    blockedRate: kind === 2 ? 0.3 : 0,
    latencyMs: kind === 3 ? 800 : 20,
  };
}

function announce(agentId: string, kind: number): SessionAnnounce {
  return {
    type: 'SESSION_ANNOUNCE',
    protocolVersion: '2.0',
    protocolVersions: ['2.0'],
    worker: {
      agentId,
      model: 'offline/runbook',
      contextWindow: 200_000,
      modelTier: TIERS[kind % TIERS.length] ?? 'sonnet',
    },
    capabilities: {
      tools: kind === 4 ? ['file'] : ['file', 'terminal', 'patch', 'read_file', 'write_file', 'shell_exec'],
      mcpServers: kind === 5 ? [] : ['filesystem', 'memory'],
    },
    mcpHealth: { filesystem: kind === 6 ? 'timeout' : 'ok', memory: 'ok' },
    session: {
      contextId: 'handshake:hermes-switch',
      activeTasks: kind === 1 ? 3 : 0,
      repoState: { branch: 'main', clean: kind !== 7 },
      sessionFresh: false,
    },
    limits: { maxConcurrentTasks: 4, queueDepth: 100, queuedTasks: 0 },
    ready: true,
    ttlS: 90,
    seq: 1,
    instanceId: '019e7fb2-6a00-7000-8000-000000000001',
  };
}
