import type { ConfiguredPeer, JoinPolicy } from '@hermes-fleet/fleet-config';
import { normalizePeerUrl, peerUrlKey } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import {
  type Clock,
  decodeAnnounce,
  encodeAnnounce,
  type Log,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import { CARD_TTL_MS, isLive, isWithin, type PeerCard, type PeerProfile } from '../peer-profile.ts';
import {
  type AnnounceSource,
  type Authorization,
  type AuthorizationContext,
  authorizeAnnounce,
} from './authorize-announce.ts';
import { selectForEviction } from './eviction.ts';
import {
  createPeerEntry,
  isNewer,
  isSameForRouting,
  type PeerEntry,
  toPeerProfile,
  withUrlKey,
} from './peer-entry.ts';
import type { PeerHealth } from './peer-health.ts';

/** Peers beside the configured ones that are remembered; then the stalest goes. */
export const MAX_UNCONFIGURED = 1_000;
/** The longest announce that is kept of one of them, characters of JSON; what fields nobody knows hold counts too. */
const MAX_ANNOUNCE_CHARS = 65_536;

const NO_JOINS: JoinPolicy = { callers: {}, endpoints: [], own: [] };

/** What became of an announce: `ignored` is an older one than is known already. */
export type Recorded =
  | { readonly outcome: 'recorded' | 'ignored' }
  | { readonly outcome: 'refused'; readonly reason: string };

/** The peers of a profile: configured ones, those that joined, and what each said last. Survives a restart. */
export interface PeerRegistry {
  /**
   * Keeps an announce if it may be believed: it must come from whom it names or from who may speak for him, from the
   * configured address or from one that may join, and be newer than what is known (design 2, SESSION_ANNOUNCE).
   * `recorded` is durable. STORE_UNAVAILABLE: it counts for this process, and is not kept over a restart.
   */
  record(announce: SessionAnnounce, from: AnnounceSource): Promise<Recorded>;
  /** Every configured peer, and every other that announced itself, by name. */
  list(): PeerProfile[];
  get(name: string): PeerProfile | undefined;
  /** Tells after anything changed that routing reads of a peer; a heartbeat that says the same is no change. */
  onChange(listener: () => void): Disposable;
  /** How a peer behaves, as the relay sees it; undefined for an unknown peer. */
  health(name: string): PeerHealth | undefined;
  /** Where the agent card of a peer is: `agent_card_url`, else the well-known place. Undefined without an address. */
  cardUrl(name: string): string | undefined;
  /** Remembers what a peer's agent card, read just now, says of the handshake. */
  recordCard(name: string, card: Omit<PeerCard, 'readAt'>): void;
}

export interface PeerRegistryOptions {
  readonly ledger: Pick<Ledger, 'peers' | 'savePeer' | 'forgetPeer'>;
  readonly configured: Readonly<Record<string, ConfiguredPeer>>;
  /** Who may join, and from where; nobody when absent. */
  readonly join?: JoinPolicy;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: string;
}

export function createPeerRegistry(options: PeerRegistryOptions): PeerRegistry {
  const { clock, log } = options;
  const policy = options.join ?? NO_JOINS;
  const configured = new Map(Object.entries(options.configured));
  const entries = new Map([...configured].map(([name, each]) => [name, createPeerEntry(clock, each)]));
  const listeners = new Set<() => void>();

  const hasExpired = (entry: PeerEntry): boolean => !isLive(entry, clock.now());
  const profile = (name: string, entry: PeerEntry): PeerProfile => toPeerProfile(name, entry, policy.token);
  const ground: AuthorizationContext = {
    self: options.self,
    configured,
    policy,
    joined(name) {
      const entry = entries.get(name);
      return entry?.joined && { ...entry.joined, live: !hasExpired(entry) };
    },
    ownerOf(url) {
      const key = peerUrlKey(url);
      for (const [name, entry] of entries)
        if (entry.joined?.urlKey === key && !hasExpired(entry)) return name;
      return undefined;
    },
  };

  for (const row of options.ledger.peers()) restore(row);

  /** Takes up what a former process kept, judged by the configuration of today. */
  function restore({ agentId, announce, receivedAt, caller }: ReturnType<Ledger['peers']>[number]): void {
    let said: SessionAnnounce;
    try {
      said = decodeAnnounce(announce);
    } catch (err) {
      log.warn({ peer: agentId, err }, 'stored announce is not readable any more: waiting for a new one');
      return;
    }
    const verdict = authorizeAnnounce(said, storedSource(agentId, caller, policy), ground);
    if (verdict.standing === 'refused') {
      log.warn({ peer: agentId, reason: verdict.reason }, 'stored announce is not believed any more');
      if (configured.has(agentId) || agentId === options.self) return;
    }
    const entry = entries.get(agentId) ?? createPeerEntry(clock, undefined);
    entry.announce = said;
    entry.receivedAt = receivedAt;
    entry.caller = caller;
    entry.joined = verdict.standing === 'joined' ? withUrlKey(verdict.joined) : undefined;
    const room = entry.configured ? { gone: undefined } : makeRoom(entry);
    if (room) entries.set(agentId, entry);
    const gone = room ? room.gone : agentId;
    if (gone !== undefined)
      options.ledger
        .forgetPeer(gone)
        .catch((err) => log.warn({ peer: gone, err }, 'a peer is not forgotten'));
  }

  function changed(): void {
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (err) {
        log.error({ err }, 'a listener of the peers failed');
      }
    }
  }

  /** Makes room for a peer that is not known yet; undefined when there is none, else who had to go for it. */
  function makeRoom(newcomer: PeerEntry): { readonly gone: string | undefined } | undefined {
    const others = [...entries].filter(([, entry]) => !entry.configured);
    if (others.length < MAX_UNCONFIGURED) return { gone: undefined };
    const gone = selectForEviction([...others, ['', newcomer] as const], clock.now());
    if (gone === '') return undefined;
    entries.delete(gone);
    return { gone };
  }

  function take(
    announce: SessionAnnounce,
    from: AnnounceSource,
    verdict: Exclude<Authorization, { standing: 'refused' }>,
  ): PeerEntry {
    const { agentId } = announce.worker;
    const entry = entries.get(agentId) ?? createPeerEntry(clock, undefined);
    entry.announce = announce;
    entry.receivedAt = clock.now();
    entry.joined = verdict.standing === 'joined' ? withUrlKey(verdict.joined) : undefined;
    entry.caller = entry.joined?.caller ?? (from.scopes && from.name);
    entry.health.recordAnswer();
    return entry;
  }

  return {
    async record(announce, from) {
      const { agentId } = announce.worker;
      const refuse = (reason: string): Recorded => {
        log.warn({ peer: agentId, caller: from.name, reason }, 'announce not believed');
        return { outcome: 'refused', reason };
      };
      const verdict = authorizeAnnounce(announce, from, ground);
      if (verdict.standing === 'refused') return refuse(verdict.reason);
      const former = entries.get(agentId);
      if (former && !supersedes(announce, verdict, former, hasExpired(former))) return { outcome: 'ignored' };
      const wire = encodeAnnounce(announce);
      if (verdict.standing !== 'configured' && JSON.stringify(wire).length > MAX_ANNOUNCE_CHARS)
        return refuse(`it is longer than ${MAX_ANNOUNCE_CHARS} characters`);
      const before = former && profile(agentId, former);
      const entry = take(announce, from, verdict);
      const room = former ? { gone: undefined } : makeRoom(entry);
      if (!room)
        return refuse(`${MAX_UNCONFIGURED} peers that nobody configured are known, all of them more needed`);
      entries.set(agentId, entry);
      const after = profile(agentId, entry);
      logStandingChange(log, before, after, verdict);
      // Before it is durable: routing sees it from now on, and a later one that says the same would wake nobody.
      if (!isSameForRouting(before, after, clock.now())) changed();
      await Promise.all([
        ...(room.gone === undefined ? [] : [options.ledger.forgetPeer(room.gone)]),
        options.ledger.savePeer({
          agentId,
          announce: wire,
          receivedAt: entry.receivedAt ?? clock.now(),
          ...(entry.caller === undefined ? {} : { caller: entry.caller }),
        }),
      ]);
      return { outcome: 'recorded' };
    },
    list: () =>
      [...entries].map(([name, entry]) => profile(name, entry)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    get(name) {
      const entry = entries.get(name);
      return entry && profile(name, entry);
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    health: (name) => entries.get(name)?.health,
    cardUrl(name) {
      const entry = entries.get(name);
      const url = entry?.configured?.url ?? entry?.joined?.url;
      const wellKnown = url && normalizePeerUrl(url).replace(/\/jsonrpc$/, '/.well-known/agent-card.json');
      return entry?.configured?.cardUrl ?? wellKnown;
    },
    recordCard(name, { handshake, versions, rpcUrl }) {
      const entry = entries.get(name);
      if (!entry) return;
      const former = entry.card;
      const now = clock.now();
      entry.card = {
        handshake,
        versions: [...versions],
        ...(rpcUrl === undefined ? {} : { rpcUrl }),
        readAt: now,
      };
      const news =
        former?.handshake !== handshake ||
        former.rpcUrl !== rpcUrl ||
        former.versions.join() !== versions.join() ||
        !isWithin(former.readAt, CARD_TTL_MS, now);
      if (news) changed();
    },
  };
}

/** Whether an announce that is believed replaces what is known: a newer one, or one that gives the peer its place. */
function supersedes(
  announce: SessionAnnounce,
  verdict: Authorization,
  former: PeerEntry,
  expired: boolean,
): boolean {
  if (!former.announce || isNewer(announce, former.announce, expired)) return true;
  const joins = verdict.standing === 'joined' && !former.joined;
  const older =
    announce.instanceId === former.announce.instanceId && (announce.seq ?? 0) < (former.announce.seq ?? 0);
  return joins && !older;
}

/**
 * As whom a stored announce is judged: the caller whose token it came with, by the rights that he has today. Without one
 * it was an answer or came on NATS, from the peer itself.
 */
function storedSource(agentId: string, caller: string | undefined, { callers }: JoinPolicy): AnnounceSource {
  if (caller === undefined) return { name: agentId };
  const joins = Object.hasOwn(callers, caller) && callers[caller]?.joins === true;
  return { name: caller, scopes: new Set(joins ? ['join'] : []) };
}

function logStandingChange(
  log: Log,
  before: PeerProfile | undefined,
  after: PeerProfile,
  verdict: Authorization,
): void {
  if (before?.standing === after.standing) return;
  const { name: peer, standing, endpoint } = after;
  if (standing === 'joined') log.info({ peer, endpoint: endpoint?.url }, 'a worker has joined');
  if (standing !== 'known') return;
  const note = verdict.standing === 'known' ? verdict.note : undefined;
  log.info({ peer, ...(note === undefined ? {} : { reason: note }) }, 'a peer is known, and not routed to');
}
