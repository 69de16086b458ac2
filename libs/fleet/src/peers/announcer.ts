import type { A2AClient, PeerEndpoint } from '@hermes-fleet/a2a';
import {
  backoffMs,
  type Clock,
  decodeAnnounce,
  encodeAnnounce,
  FleetError,
  type JsonObject,
  type Log,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import type { Peers } from './peers.ts';
import { DEFAULT_TTL_S } from './profile.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const DEBOUNCE_MS = 1_000;

/** Tells every configured peer what this profile can do, and learns from the answers what they can. */
export interface Announcer {
  /** Announces to everybody at once, again with backoff until each has answered, then as a heartbeat (ttl / 3). */
  start(): void;
  /** Something that routing reads has changed: announce soon, at most once a second. */
  changed(): void;
  /** Stops announcing; resolves when nothing is under way any more. */
  close(): Promise<void>;
}

export interface AnnouncerOptions {
  readonly self: () => SessionAnnounce | Promise<SessionAnnounce>;
  readonly peers: Peers;
  readonly client: Pick<A2AClient, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'announce' | 'peerLastAnnounce'>;
  /** 0 to 1; spreads retries and heartbeats. Math.random when absent. */
  readonly random?: () => number;
}

export function createAnnouncer(o: AnnouncerOptions): Announcer {
  const closing = new AbortController();
  const loops: Promise<void>[] = [];
  const random = o.random ?? Math.random;
  let wake = new AbortController();
  let pending: Disposable | undefined;

  async function announceTo(endpoint: PeerEndpoint): Promise<number> {
    const own = await o.self();
    const contextId = `handshake:hermes-${endpoint.name}`;
    const announce = { ...own, session: { ...own.session, contextId } };
    const reply = await o.client.send(
      endpoint,
      {
        messageId: `announce:${own.instanceId ?? ''}:${own.seq ?? o.clock.now()}:${endpoint.name}`,
        contextId,
        data: encodeAnnounce(announce),
        blocking: true,
      },
      { timeoutMs: ANSWER_TIMEOUT_MS, signal: closing.signal },
    );
    const data = reply.kind === 'message' ? reply.data : reply.task.data;
    await learn(o, data, endpoint.name);
    return ((own.ttlS ?? DEFAULT_TTL_S) * 1000) / 3;
  }

  async function keepAnnouncing(endpoint: PeerEndpoint): Promise<void> {
    let failures = 0;
    while (!closing.signal.aborted) {
      const { signal } = wake;
      let pauseMs: number;
      try {
        const heartbeatMs = await announceTo(endpoint);
        o.metrics.announce(endpoint.name, 'out', 'ok');
        failures = 0;
        pauseMs = heartbeatMs * (0.9 + 0.1 * random());
      } catch (error) {
        if (closing.signal.aborted) return;
        o.metrics.announce(endpoint.name, 'out', 'error');
        failures += 1;
        pauseMs = backoffMs(failures, { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS, random });
        const level = failures === 1 ? 'warn' : 'debug';
        o.log[level]({ peer: endpoint.name, err: error }, 'announce not delivered: trying again');
      }
      await o.clock.sleep(pauseMs, AbortSignal.any([closing.signal, signal])).catch(() => undefined);
    }
  }

  return {
    start() {
      if (loops.length > 0) return;
      for (const { endpoint } of o.peers.list()) if (endpoint) loops.push(keepAnnouncing(endpoint));
    },
    changed() {
      if (pending || closing.signal.aborted) return;
      pending = o.clock.timer(() => {
        pending = undefined;
        const due = wake;
        wake = new AbortController();
        due.abort();
      }, DEBOUNCE_MS);
    },
    async close() {
      pending?.[Symbol.dispose]();
      closing.abort(new FleetError('SHUTTING_DOWN', 'the profile is stopping'));
      await Promise.all(loops);
    },
  };
}

/** Records the announce among the data parts of an answer of `peer`, if there is one. */
export async function learn(
  o: Pick<AnnouncerOptions, 'peers' | 'clock' | 'log' | 'metrics'>,
  data: readonly JsonObject[],
  peer: string,
): Promise<void> {
  const wire = data.find(({ type }) => type === 'SESSION_ANNOUNCE');
  if (!wire) return;
  try {
    const recorded = await o.peers.record(decodeAnnounce(wire), { name: peer });
    o.metrics.announce(peer, 'in', recorded.outcome === 'refused' ? 'error' : 'ok');
    if (recorded.outcome === 'recorded') o.metrics.peerLastAnnounce(peer, o.clock.now() / 1000);
  } catch (error) {
    o.metrics.announce(peer, 'in', 'error');
    o.log.warn({ peer, err: error }, 'announce in an answer is not usable');
  }
}
