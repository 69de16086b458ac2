import type { A2AClient, PeerEndpoint } from '@hermes-fleet/a2a';
import { backoffMs, type JsonObject, negotiate } from '@hermes-fleet/protocol';
import { encodeAnnounce, type SessionAnnounce, spokenVersions } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { FleetMetrics } from '@hermes-fleet/service';
import { CARD_TTL_MS, isLive, isWithin, type PeerProfile, takesProse } from '../peer-profile.ts';
import type { PeerRegistry } from '../registry/peer-registry.ts';
import { readCard } from './agent-card.ts';

const ANSWER_TIMEOUT_MS = 5_000;
/** The pauses after an announce that could not be built or delivered, ms. */
export const RETRY = { firstMs: 500, longestMs: 15_000 };
/** Interval at which the card of a peer that gets no announces is read again; shorter than the card's lifetime. */
const CARD_EVERY_MS = 30_000;
/** The longest part of a peer's reason in a log line, characters. */
const MAX_REASON_CHARS = 500;

/** `prose` and `foreign` (no common major version) mean that the announce was not sent. */
type Delivery = 'answered' | 'prose' | 'foreign';

export interface AnnounceSenderOptions {
  readonly peer: string;
  readonly peers: PeerRegistry;
  readonly client: Pick<A2AClient, 'send' | 'card'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'add'>;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Is called with the data parts of an answer. */
  readonly onAnswer: (data: readonly JsonObject[]) => Promise<void>;
}

/** Delivers announces to one peer, one message at a time. Only the newest announce is kept. */
export function createAnnounceSender(options: AnnounceSenderOptions) {
  const { peer, signal } = options;
  let latest: SessionAnnounce | undefined;
  let last: Delivery | 'failed' | undefined;
  let refusal: string | undefined;
  let cardAskedAt: number | undefined;
  let wake = new AbortController();
  const count = (result: 'ok' | 'error'): void =>
    options.metrics.add('fleet_handshake_announces_total', { peer, direction: 'out', result });

  function cardMaxAgeMs(): number {
    if (last === 'answered') return CARD_TTL_MS;
    return last === 'failed' ? 0 : CARD_EVERY_MS / 2;
  }

  /** Reads the card before the first announce, when it is too old, and after a failed delivery. */
  async function refreshCard(): Promise<void> {
    const url = options.peers.cardUrl(peer);
    const isFresh = cardAskedAt !== undefined && Math.abs(options.clock.now() - cardAskedAt) < cardMaxAgeMs();
    if (url === undefined || isFresh) return;
    const card = await readCard(options.client, url, { timeoutMs: ANSWER_TIMEOUT_MS, signal });
    cardAskedAt = options.clock.now();
    if (card) options.peers.recordCard(peer, card);
  }

  async function post(endpoint: PeerEndpoint, announce: SessionAnnounce, stop: AbortSignal): Promise<void> {
    const contextId = `handshake:hermes-${peer}`;
    const addressed = { ...announce, session: { ...announce.session, contextId } };
    const reply = await options.client.send(
      endpoint,
      {
        messageId: `announce:${announce.instanceId ?? ''}:${announce.seq ?? options.clock.now()}:${peer}`,
        contextId,
        data: encodeAnnounce(addressed),
        blocking: true,
      },
      { timeoutMs: ANSWER_TIMEOUT_MS, signal: stop },
    );
    const { data } = reply.kind === 'message' ? reply : reply.task;
    noteRefusal(data);
    await options.onAnswer(data);
  }

  /** Logs the first refusal for a reason, not every heartbeat. */
  function noteRefusal(data: readonly JsonObject[]): void {
    const reason = refusalIn(data);
    if (reason !== undefined && reason !== refusal)
      options.log.warn({ peer, reason }, 'a peer does not believe our announce');
    refusal = reason;
  }

  async function deliver(announce: SessionAnnounce): Promise<Delivery> {
    await refreshCard();
    const profile = options.peers.get(peer);
    if (!profile?.endpoint) return 'prose';
    const now = options.clock.now();
    if (takesProse(profile, now)) return skip('prose', 'its agent card declares no handshake');
    const version = commonVersion(announce, profile, now);
    if (version === undefined)
      return skip('foreign', `it speaks handshake ${knownVersions(profile, now).join(', ')} only`);
    await post(profile.endpoint, { ...announce, protocolVersion: version }, signal);
    count('ok');
    return 'answered';
  }

  /** Logs the first skipped delivery, not every heartbeat. */
  function skip(delivery: Delivery, reason: string): Delivery {
    if (last !== delivery) options.log.info({ peer, reason }, 'a peer is not announced to');
    return delivery;
  }

  async function deliverUntilAborted(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const announce = latest;
      let pauseMs = Number.POSITIVE_INFINITY;
      try {
        if (announce) last = await deliver(announce);
        if (last === 'prose' || last === 'foreign') pauseMs = CARD_EVERY_MS;
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        last = 'failed';
        failures += 1;
        pauseMs = backoffMs(failures, { ...RETRY, random: options.random });
        count('error');
        const level = failures === 1 ? 'warn' : 'debug';
        options.log[level]({ peer, err: error }, 'announce not delivered: trying again');
      }
      if (latest !== announce) continue;
      await options.clock.sleep(pauseMs, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    }
  }

  return {
    /** Sends this announce, and discards an older one that is not delivered yet. */
    send(announce: SessionAnnounce): void {
      latest = announce;
      const due = wake;
      wake = new AbortController();
      due.abort();
    },
    /** Sends a last announce, without retries, if the peer answered the previous one. */
    async farewell(announce: SessionAnnounce, stop: AbortSignal): Promise<void> {
      latest = announce;
      const profile = options.peers.get(peer);
      const version = profile && commonVersion(announce, profile, options.clock.now());
      if (last !== 'answered' || !profile?.endpoint || version === undefined) return;
      await post(profile.endpoint, { ...announce, protocolVersion: version }, stop);
    },
    /** Resolves after the signal has aborted and no delivery is in progress. */
    ended: deliverUntilAborted(),
  };
}

/** The reason why a peer refused our announce (docs/handshake.md#announce-authorization); undefined if it did not. */
function refusalIn(data: readonly JsonObject[]): string | undefined {
  const refused = data.find(({ type, accepted }) => type === undefined && accepted === false);
  if (!refused) return undefined;
  return typeof refused.reason === 'string' ? refused.reason.slice(0, MAX_REASON_CHARS) : 'no reason given';
}

/** Negotiates the version with the peer's last announce, else with its card (docs/handshake.md#versions). */
function commonVersion(announce: SessionAnnounce, peer: PeerProfile, now: number): string | undefined {
  const theirs = knownVersions(peer, now);
  return theirs.length === 0 ? announce.protocolVersion : negotiate(spokenVersions(announce), theirs);
}

function knownVersions(peer: PeerProfile, now: number): readonly string[] {
  if (peer.announce && isLive(peer, now)) return spokenVersions(peer.announce);
  return peer.card && isWithin(peer.card.readAt, CARD_TTL_MS, now) ? peer.card.versions : [];
}
