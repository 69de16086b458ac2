import type { A2AClient } from '@hermes-fleet/a2a';
import {
  backoffMs,
  type Clock,
  decodeAnnounce,
  FleetError,
  type JsonObject,
  type Log,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { DEFAULT_TTL_S } from '../peer-profile.ts';
import type { PeerRegistry } from '../registry/peer-registry.ts';
import { type AnnounceSender, createAnnounceSender } from './announce-sender.ts';

const DEBOUNCE_MS = 1_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const FAREWELL_MS = 1_000;

/** Tells every configured peer, and the bus, what this profile can do, and learns from the answers what they can. */
export interface Announcer {
  /** Announces to everybody at once, and then as a heartbeat (ttl / 3); who can't be reached is tried with backoff. */
  start(): void;
  /** Something that routing reads has changed: announce soon, at most once a second. */
  changed(): void;
  /** Says once more, with `ready: false`, that this profile is there no longer; takes a second at most, never throws. */
  farewell(): Promise<void>;
  /** Stops announcing; resolves when nothing is under way any more. */
  close(): Promise<void>;
}

/** Where announces go beside the configured peers (libs/events has it for NATS). */
export interface AnnouncePublisher {
  publish(announce: SessionAnnounce): void;
  /** Resolves true once the last one is on its way, false after `timeoutMs`. */
  flush(timeoutMs: number): Promise<boolean>;
}

export interface AnnouncerOptions {
  /** Gives the announce of this moment, with a sequence of its own. */
  readonly self: () => SessionAnnounce | Promise<SessionAnnounce>;
  /** The same from what is known without looking, for the farewell, which has no time to measure; `self` when absent. */
  readonly selfAsKnown?: () => SessionAnnounce;
  readonly peers: PeerRegistry;
  readonly client: Pick<A2AClient, 'send' | 'card'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'announce' | 'peerLastAnnounce'>;
  readonly bus?: AnnouncePublisher | undefined;
  /** 0 to 1; spreads retries and heartbeats. Math.random when absent. */
  readonly random?: () => number;
}

export function createAnnouncer(options: AnnouncerOptions): Announcer {
  const closing = new AbortController();
  const random = options.random ?? Math.random;
  const correspondents: AnnounceSender[] = [];
  let started = false;
  let leaving = false;
  let pending: Disposable | undefined;
  let heartbeat: Disposable | undefined;
  let making: Promise<void> | undefined;
  let again = false;
  let failures = 0;

  /** One announce for everybody; while one is being made, whatever else asks for one gets the next. */
  function broadcast(): void {
    again = making !== undefined;
    making ??= makeOne().finally(() => {
      making = undefined;
      if (again && !leaving) broadcast();
    });
  }

  async function makeOne(): Promise<void> {
    heartbeat?.[Symbol.dispose]();
    let pauseMs: number;
    try {
      const announce = await options.self();
      if (leaving) return;
      failures = 0;
      pauseMs = (((announce.ttlS ?? DEFAULT_TTL_S) * 1000) / 3) * (0.9 + 0.1 * random());
      for (const each of correspondents) each.send(announce);
      options.bus?.publish(announce);
    } catch (error) {
      failures += 1;
      pauseMs = backoffMs(failures, { firstMs: FIRST_RETRY_MS, longestMs: LONGEST_RETRY_MS, random });
      options.log.warn({ err: error }, 'there is nothing to announce: trying again');
    }
    if (!leaving) heartbeat = options.clock.timer(broadcast, pauseMs);
  }

  function leave(): void {
    leaving = true;
    pending?.[Symbol.dispose]();
    heartbeat?.[Symbol.dispose]();
  }

  return {
    start() {
      if (started || leaving) return;
      started = true;
      for (const { name, standing } of options.peers.list())
        if (standing === 'configured')
          correspondents.push(
            createAnnounceSender({
              peer: name,
              peers: options.peers,
              client: options.client,
              clock: options.clock,
              log: options.log,
              random,
              metrics: options.metrics,
              signal: closing.signal,
              onAnswer: (data) => recordAnnounceOf(options, data, name),
            }),
          );
      broadcast();
    },
    changed() {
      if (!started || pending || leaving) return;
      pending = options.clock.timer(() => {
        pending = undefined;
        broadcast();
      }, DEBOUNCE_MS);
    },
    async farewell() {
      if (!started || leaving) return;
      leave();
      const late = new AbortController();
      const { promise: impatience, resolve } = Promise.withResolvers<void>();
      using _limit = options.clock.timer(() => {
        late.abort(new FleetError('SHUTTING_DOWN', 'the profile is stopping'));
        resolve();
      }, FAREWELL_MS);
      const goodbye = async (): Promise<void> => {
        const announce = { ...(await (options.selfAsKnown ?? options.self)()), ready: false };
        options.bus?.publish(announce);
        await Promise.allSettled([
          options.bus?.flush(FAREWELL_MS),
          ...correspondents.map((each) => each.farewell(announce, late.signal)),
        ]);
      };
      const said = goodbye().catch((err) => options.log.debug({ err }, 'left without a farewell'));
      await Promise.race([said, impatience]);
    },
    async close() {
      leave();
      closing.abort(new FleetError('SHUTTING_DOWN', 'the profile is stopping'));
      await Promise.all([making, ...correspondents.map(({ ended }) => ended)]);
    },
  };
}

/** Records the announce among the data parts of an answer of `peer`, or of its message on NATS, if there is one. */
export async function recordAnnounceOf(
  options: Pick<AnnouncerOptions, 'peers' | 'clock' | 'log' | 'metrics'>,
  data: readonly JsonObject[],
  peer: string,
): Promise<void> {
  const wire = data.find(({ type }) => type === 'SESSION_ANNOUNCE');
  if (!wire) return;
  try {
    const recorded = await options.peers.record(decodeAnnounce(wire), { name: peer });
    options.metrics.announce(peer, 'in', recorded.outcome === 'refused' ? 'error' : 'ok');
    if (recorded.outcome === 'recorded') options.metrics.peerLastAnnounce(peer, options.clock.now() / 1000);
  } catch (error) {
    options.metrics.announce(peer, 'in', 'error');
    options.log.warn({ peer, err: error }, 'an announce is not usable');
  }
}
