import type { PeerProfile } from '@hermes-fleet/peers';
import type { Clock, Log, SessionAnnounce } from '@hermes-fleet/protocol';

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

export const NOW = Date.parse('2026-05-31T20:00:00Z');

/** A clock whose time stands still until it is moved; timers and sleeps run when their time comes. */
export function manualClock(start = NOW): Clock & { advance(ms: number): void } {
  let now = start;
  let timers: { at: number; fn: () => void }[] = [];
  const timer = (fn: () => void, ms: number): Disposable => {
    const entry = { at: now + ms, fn };
    timers.push(entry);
    return {
      [Symbol.dispose]() {
        timers = timers.filter((other) => other !== entry);
      },
    };
  };
  return {
    now: () => now,
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const entry = timer(resolve, ms);
        signal?.addEventListener('abort', () => {
          entry[Symbol.dispose]();
          reject(signal.reason);
        });
      }),
    advance(ms) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at);
      timers = timers.filter(({ at }) => at > now);
      for (const { fn } of due) fn();
    },
  };
}

type Overrides = {
  readonly [K in 'worker' | 'capabilities' | 'session']?: Partial<SessionAnnounce[K]>;
} & Omit<Partial<SessionAnnounce>, 'worker' | 'capabilities' | 'session'>;

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
    instanceId: '0190-1',
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
