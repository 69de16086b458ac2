import type { SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { manualClock as createManualClock, type ManualClock } from '@hermes-fleet/protocol/testing';
import type { PeerProfile } from '../src/peer-profile.ts';

/** The instant at which the announces and clocks of these tests begin. */
export const NOW = Date.parse('2026-05-31T20:00:00Z');

export const manualClock = (start = NOW): ManualClock => createManualClock(start);

type Overrides = {
  readonly [K in 'worker' | 'capabilities' | 'session']?: Partial<SessionAnnounce[K]>;
} & Omit<Partial<SessionAnnounce>, 'worker' | 'capabilities' | 'session'>;

/** The ID of a start of a worker: the nth of that minute, an hour before the first announce unless `at` says otherwise. */
export function instanceOf(nth: number, at = NOW - 3_600_000): string {
  const time = at.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${nth.toString(16).padStart(12, '0')}`;
}

/** A healthy worker's announce. */
export function announceOf(agentId: string, overrides: Overrides = {}): SessionAnnounce {
  const { worker, capabilities, session, ...rest } = overrides;
  return {
    type: 'SESSION_ANNOUNCE',
    protocolVersion: '2.0',
    worker: { agentId, model: 'offline/runbook', modelTier: 'sonnet', contextWindow: 200_000, ...worker },
    capabilities: { tools: ['terminal', 'file', 'patch'], mcpServers: ['memory'], ...capabilities },
    mcpHealth: { memory: 'ok' },
    session: {
      contextId: 'handshake:hermes-switch',
      activeTasks: 0,
      repoState: { branch: 'main', clean: true },
      sessionFresh: false,
      ...session,
    },
    limits: { maxConcurrentTasks: 4, queueDepth: 100, queuedTasks: 0 },
    ttlS: 90,
    seq: 1,
    instanceId: instanceOf(1),
    ...rest,
  };
}

export function peerOf(name: string, overrides: Partial<PeerProfile> = {}): PeerProfile {
  return {
    name,
    standing: 'configured',
    card: undefined,
    endpoint: { name, url: `http://${name}:9220/jsonrpc` },
    announce: announceOf(name),
    receivedAt: NOW,
    circuitOpenUntil: 0,
    inFlight: 0,
    blockedRate: 0,
    latencyMs: 0,
    ...overrides,
  };
}
