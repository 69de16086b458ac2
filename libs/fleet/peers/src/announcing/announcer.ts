import { backoffMs, FleetError, type JsonObject } from '@hermes-fleet/protocol';
import { decodeAnnounce, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { FleetMetrics } from '@hermes-fleet/service';
import { DEFAULT_TTL_S } from '../peer-profile.ts';
import type { PeerRegistry } from '../registry/peer-registry.ts';
import { type AnnounceSenderOptions, createAnnounceSender, RETRY } from './announce-sender.ts';

const DEBOUNCE_MS = 1_000;
/** A change of load waits this long for others, ms, unless the last announce was within the last second. */
const LOAD_DEBOUNCE_MS = 100;
const FAREWELL_MS = 1_000;

export type Announcer = ReturnType<typeof createAnnouncer>;

/** Publishes announces on the bus. `libs/core/events` implements it for NATS. */
export interface AnnouncePublisher {
  publish(announce: SessionAnnounce): void;
  /** Resolves to true when the last announce is sent, to false after `timeoutMs`. */
  flush(timeoutMs: number): Promise<boolean>;
}

export interface AnnouncerOptions extends Pick<AnnounceSenderOptions, 'peers' | 'client' | 'clock' | 'log'> {
  /** Measures, and returns the current announce with a new `seq`. */
  readonly self: () => SessionAnnounce | Promise<SessionAnnounce>;
  /** Returns an announce without measuring, for changes of load and for the farewell; default: `self`. */
  readonly selfAsKnown?: () => SessionAnnounce;
  readonly metrics: Pick<FleetMetrics, 'add' | 'set'>;
  readonly bus?: AnnouncePublisher | undefined;
  /** Jitter of retries and heartbeats, 0 to 1; default: Math.random. */
  readonly random?: () => number;
}

/** Announces this profile to every configured peer and on the bus, and records the announces in the answers. */
export function createAnnouncer(options: AnnouncerOptions) {
  const closing = new AbortController();
  const random = options.random ?? Math.random;
  const senders: ReturnType<typeof createAnnounceSender>[] = [];
  let started = false;
  let leaving = false;
  let pending: Disposable | undefined;
  /** The pending announce measures. */
  let measures = false;
  let lastSentAt = Number.NEGATIVE_INFINITY;
  let heartbeat: Disposable | undefined;
  let broadcasting: Promise<void> | undefined;
  let again = false;
  let failures = 0;

  /** Sends one announce to all peers. Calls during a broadcast share the next one. */
  function broadcast(self = options.self): void {
    again = broadcasting !== undefined;
    broadcasting ??= broadcastOnce(self).finally(() => {
      broadcasting = undefined;
      if (again && !leaving) broadcast();
    });
  }

  async function broadcastOnce(self: AnnouncerOptions['self']): Promise<void> {
    const isMeasured = self === options.self;
    // A change of load does not put off the next measurement.
    if (isMeasured) heartbeat?.[Symbol.dispose]();
    let pauseMs: number;
    try {
      const announce = await self();
      if (leaving) return;
      failures = 0;
      lastSentAt = options.clock.monotonic();
      pauseMs = (((announce.ttlS ?? DEFAULT_TTL_S) * 1000) / 3) * (0.9 + 0.1 * random());
      for (const each of senders) each.send(announce);
      options.bus?.publish(announce);
    } catch (error) {
      failures += 1;
      pauseMs = backoffMs(failures, { ...RETRY, random });
      options.log.warn({ err: error }, 'no announce could be built: trying again');
    }
    if (isMeasured && !leaving) heartbeat = options.clock.timer(() => broadcast(), pauseMs);
  }

  function schedule(delayMs: number, measure: boolean): void {
    if (!started || leaving) return;
    measures ||= measure;
    pending ??= options.clock.timer(() => {
      pending = undefined;
      const self = measures ? options.self : (options.selfAsKnown ?? options.self);
      measures = false;
      broadcast(self);
    }, delayMs);
  }

  function stopTimers(): void {
    leaving = true;
    pending?.[Symbol.dispose]();
    heartbeat?.[Symbol.dispose]();
  }

  return {
    /** Announces at once, and then as a heartbeat every third of the TTL. Failed deliveries are retried with backoff. */
    start(): void {
      if (started || leaving) return;
      started = true;
      for (const { name, standing } of options.peers.list())
        if (standing === 'configured')
          senders.push(
            createAnnounceSender({
              ...options,
              peer: name,
              random,
              signal: closing.signal,
              onAnswer: (data) => recordAnnounceOf(options, data, name),
            }),
          );
      broadcast();
    },
    /** Schedules an announce because an input of routing has changed; at most one per second. Measures before it. */
    changed: (): void => schedule(DEBOUNCE_MS, true),
    /** Schedules an announce because the load has changed; at most one per second. Measures nothing. */
    loadChanged(): void {
      if (pending) return;
      schedule(Math.max(LOAD_DEBOUNCE_MS, lastSentAt + DEBOUNCE_MS - options.clock.monotonic()), false);
    },
    /** Announces once more, with `ready: false`. Takes at most one second, and never throws. */
    async farewell(): Promise<void> {
      if (!started || leaving) return;
      stopTimers();
      const timeout = new AbortController();
      const { promise: timedOut, resolve } = Promise.withResolvers<void>();
      using _limit = options.clock.timer(() => {
        timeout.abort(new FleetError('SHUTTING_DOWN', 'the profile is stopping'));
        resolve();
      }, FAREWELL_MS);
      const sendFarewell = async (): Promise<void> => {
        const announce = { ...(await (options.selfAsKnown ?? options.self)()), ready: false };
        options.bus?.publish(announce);
        await Promise.allSettled([
          options.bus?.flush(FAREWELL_MS),
          ...senders.map((each) => each.farewell(announce, timeout.signal)),
        ]);
      };
      const sent = sendFarewell().catch((err) => options.log.debug({ err }, 'farewell not delivered'));
      await Promise.race([sent, timedOut]);
    },
    /** Stops announcing. Resolves when no delivery is in progress. */
    async close(): Promise<void> {
      stopTimers();
      closing.abort(new FleetError('SHUTTING_DOWN', 'the profile is stopping'));
      await Promise.all([broadcasting, ...senders.map(({ ended }) => ended)]);
    },
  };
}

/** Records the announce among the data parts of an answer or a NATS message of `peer`, if there is one. */
export async function recordAnnounceOf(
  options: Pick<AnnouncerOptions, 'peers' | 'clock' | 'log' | 'metrics'>,
  data: readonly JsonObject[],
  peer: string,
): Promise<void> {
  const wire = data.find(({ type }) => type === 'SESSION_ANNOUNCE');
  if (!wire) return;
  try {
    await recordAnnounce(options, decodeAnnounce(wire), { name: peer }, peer);
  } catch (error) {
    options.metrics.add('fleet_handshake_announces_total', { peer, direction: 'in', result: 'error' });
    options.log.warn({ peer, err: error }, 'invalid announce');
  }
}

/** Records an announce of `peer`, as `PeerRegistry.record` does, and counts it. */
export async function recordAnnounce(
  { peers, clock, metrics }: Pick<AnnouncerOptions, 'peers' | 'clock' | 'metrics'>,
  announce: SessionAnnounce,
  from: Parameters<PeerRegistry['record']>[1],
  peer: string,
): ReturnType<PeerRegistry['record']> {
  const recorded = await peers.record(announce, from);
  const result = recorded.outcome === 'refused' ? 'error' : 'ok';
  metrics.add('fleet_handshake_announces_total', { peer, direction: 'in', result });
  if (recorded.outcome === 'recorded')
    metrics.set('fleet_peer_last_announce_timestamp_seconds', { peer }, clock.now() / 1000);
  return recorded;
}
