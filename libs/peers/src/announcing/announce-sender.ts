import type { A2AClient, PeerEndpoint } from '@hermes-fleet/a2a';
import {
  backoffMs,
  type Clock,
  encodeAnnounce,
  type JsonObject,
  type Log,
  negotiate,
  type SessionAnnounce,
  spokenVersions,
} from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { CARD_TTL_MS, isLive, isWithin, type PeerProfile, takesProse } from '../peer-profile.ts';
import type { Peers } from '../registry/peer-registry.ts';
import { readCard } from './agent-card.ts';

const ANSWER_TIMEOUT_MS = 5_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
/** How often the card of a peer that is not announced to is read again; well within the card's own time. */
const CARD_EVERY_MS = 30_000;

/** How an announce fared: it was answered, or it was not sent, since the card says that it would not be understood. */
type Delivery = 'answered' | 'prose' | 'foreign';

/** Tells one peer what this profile announces, one message at a time, the newest only. */
export interface Correspondent {
  /** Has this announce sent, in place of any older one that is not delivered yet. */
  tell(announce: SessionAnnounce): void;
  /** Sends one last announce, once, to a peer that answered the one before. */
  farewell(announce: SessionAnnounce, signal: AbortSignal): Promise<void>;
  /** Resolves when nothing is under way any more, after the signal has aborted. */
  readonly ended: Promise<void>;
}

export interface CorrespondentOptions {
  readonly peer: string;
  readonly peers: Peers;
  readonly client: Pick<A2AClient, 'send' | 'card'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<FleetMetrics, 'announce'>;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Called with the data parts of an answer. */
  readonly learn: (data: readonly JsonObject[]) => Promise<void>;
}

export function correspond(o: CorrespondentOptions): Correspondent {
  const { peer, signal } = o;
  let latest: SessionAnnounce | undefined;
  let last: Delivery | 'failed' | undefined;
  let cardAskedAt: number | undefined;
  let wake = new AbortController();

  function trustOfCard(): number {
    if (last === 'answered') return CARD_TTL_MS;
    return last === 'failed' ? 0 : CARD_EVERY_MS / 2;
  }

  /** Before the first announce, and again when the card is old, or could explain what went wrong. */
  async function lookAtCard(): Promise<void> {
    const url = o.peers.cardUrl(peer);
    const isFresh = cardAskedAt !== undefined && Math.abs(o.clock.now() - cardAskedAt) < trustOfCard();
    if (url === undefined || isFresh) return;
    const card = await readCard(o.client, url, { timeoutMs: ANSWER_TIMEOUT_MS, signal });
    cardAskedAt = o.clock.now();
    if (card) o.peers.noteCard(peer, card);
  }

  async function send(endpoint: PeerEndpoint, announce: SessionAnnounce, stop: AbortSignal): Promise<void> {
    const contextId = `handshake:hermes-${peer}`;
    const said = { ...announce, session: { ...announce.session, contextId } };
    const reply = await o.client.send(
      endpoint,
      {
        messageId: `announce:${announce.instanceId ?? ''}:${announce.seq ?? o.clock.now()}:${peer}`,
        contextId,
        data: encodeAnnounce(said),
        blocking: true,
      },
      { timeoutMs: ANSWER_TIMEOUT_MS, signal: stop },
    );
    await o.learn(reply.kind === 'message' ? reply.data : reply.task.data);
  }

  async function deliver(announce: SessionAnnounce): Promise<Delivery> {
    await lookAtCard();
    const profile = o.peers.get(peer);
    if (!profile?.endpoint) return 'prose';
    const now = o.clock.now();
    if (takesProse(profile, now)) return told('prose', 'its agent card declares no handshake');
    const version = commonVersion(announce, profile, now);
    if (version === undefined)
      return told('foreign', `it speaks handshake ${versionsKnown(profile, now).join(', ')} only`);
    await send(profile.endpoint, { ...announce, protocolVersion: version }, signal);
    o.metrics.announce(peer, 'out', 'ok');
    return 'answered';
  }

  /** Once, not at every heartbeat. */
  function told(delivery: Delivery, reason: string): Delivery {
    if (last !== delivery) o.log.info({ peer, reason }, 'a peer is not announced to');
    return delivery;
  }

  async function keepTelling(): Promise<void> {
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
        pauseMs = backoffMs(failures, {
          firstMs: FIRST_RETRY_MS,
          longestMs: LONGEST_RETRY_MS,
          random: o.random,
        });
        o.metrics.announce(peer, 'out', 'error');
        const level = failures === 1 ? 'warn' : 'debug';
        o.log[level]({ peer, err: error }, 'announce not delivered: trying again');
      }
      if (latest !== announce) continue;
      await o.clock.sleep(pauseMs, AbortSignal.any([signal, wake.signal])).catch(() => undefined);
    }
  }

  return {
    tell(announce) {
      latest = announce;
      const due = wake;
      wake = new AbortController();
      due.abort();
    },
    async farewell(announce, stop) {
      latest = announce;
      const profile = o.peers.get(peer);
      const version = profile && commonVersion(announce, profile, o.clock.now());
      if (last !== 'answered' || !profile?.endpoint || version === undefined) return;
      await send(profile.endpoint, { ...announce, protocolVersion: version }, stop);
    },
    ended: keepTelling(),
  };
}

/** The version that both speak, by what the peer announced last, else by its card (design 2, Versions). */
function commonVersion(announce: SessionAnnounce, peer: PeerProfile, now: number): string | undefined {
  const theirs = versionsKnown(peer, now);
  return theirs.length === 0 ? announce.protocolVersion : negotiate(spokenVersions(announce), theirs);
}

function versionsKnown(peer: PeerProfile, now: number): readonly string[] {
  if (peer.announce && isLive(peer, now)) return spokenVersions(peer.announce);
  return peer.card && isWithin(peer.card.readAt, CARD_TTL_MS, now) ? peer.card.versions : [];
}
