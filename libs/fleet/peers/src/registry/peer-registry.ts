import type { ConfiguredPeer, JoinPolicy } from '@hermes-fleet/fleet-config';
import { peerUrlKey, SHARED_CALLER } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import { decodeAnnounce, encodeAnnounce, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { hasRoom } from '../capacity.ts';
import { CARD_TTL_MS, isLive, isWithin, type PeerCard, type PeerProfile } from '../peer-profile.ts';
import { seqProblem, supersedes } from './announce-order.ts';
import {
  type AnnounceSource,
  type Authorization,
  type AuthorizationContext,
  authorizeAnnounce,
  ownerOf,
  storedSource,
} from './authorize-announce.ts';
import { MAX_UNCONFIGURED, NEWCOMER, peerToEvict } from './eviction.ts';
import {
  cardUrlOf,
  createPeerEntry,
  isSameForRouting,
  logStandingChange,
  type PeerEntry,
  toPeerProfile,
  withUrlKey,
} from './peer-entry.ts';
import type { PeerHealth } from './peer-health.ts';

/** The longest announce of such a peer, characters of JSON, including unknown fields. */
const MAX_ANNOUNCE_CHARS = 65_536;

const NO_JOINS: JoinPolicy = { callers: {}, endpoints: [], own: [] };

/** `ignored`: the announce is older than the recorded one. */
export type Recorded =
  | { readonly outcome: 'recorded' | 'ignored' }
  | { readonly outcome: 'refused'; readonly reason: string };

export type PeerRegistry = ReturnType<typeof createPeerRegistry>;

export interface PeerRegistryOptions {
  readonly ledger: Pick<Ledger, 'peers' | 'savePeer' | 'forgetPeer'>;
  readonly configured: Readonly<Record<string, ConfiguredPeer>>;
  /** Default: no peer may join. */
  readonly join?: JoinPolicy;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: string;
  /** Jitter of the pauses after refusals, 0 to 1; default: Math.random. */
  readonly random?: () => number;
}

/** The peers of a profile, with the last announce of each. The ledger keeps them over a restart. */
export function createPeerRegistry(options: PeerRegistryOptions) {
  const { clock, log } = options;
  const policy = options.join ?? NO_JOINS;
  const configured = new Map(Object.entries(options.configured));
  const newEntry = (peer?: ConfiguredPeer): PeerEntry => createPeerEntry(clock, peer, options.random);
  const entries = new Map([...configured].map(([name, each]) => [name, newEntry(each)]));
  const listeners = new Set<() => void>();
  /** The entries by name; undefined after one came or left. */
  let sorted: [string, PeerEntry][] | undefined;

  const hasExpired = (entry: PeerEntry): boolean => !isLive(entry, clock.now());
  /** A replica of a configured peer has the peer's keys, and so accepts the token for that peer. */
  const tokenForCaller = (caller = ''): string | undefined => configured.get(caller)?.token ?? policy.token;
  const profile = (name: string, entry: PeerEntry): PeerProfile => {
    const worker = policy.workers?.get(name);
    return toPeerProfile(name, entry, worker ?? { token: tokenForCaller(entry.joined?.caller) });
  };
  /** True for a peer that keeps its place, because an operator has named it or let it join. */
  const keepsPlace = (name: string): boolean =>
    configured.has(name) || policy.workers?.get(name) !== undefined;
  const authContext: AuthorizationContext = {
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
  for (const { name } of policy.workers?.list() ?? []) admit(name);

  /** Makes a worker that has joined a peer, before its first announce: one of the same name before it was another's. */
  function admit(name: string): void {
    const worker = policy.workers?.get(name);
    if (!worker || configured.has(name)) return;
    const known = entries.get(name);
    const entry = known?.joined?.caller === name ? known : newEntry();
    entry.joined = withUrlKey({ caller: name, url: worker.url });
    put(name, entry);
  }

  /** Restores a stored announce, with the standing that the current configuration authorizes. */
  function restore({ agentId, announce, receivedAt, caller }: ReturnType<Ledger['peers']>[number]): void {
    let decoded: SessionAnnounce;
    try {
      decoded = decodeAnnounce(announce);
    } catch (err) {
      log.warn({ peer: agentId, err }, 'stored announce is not readable: waiting for a new one');
      return;
    }
    const authorization = authorizeAnnounce(decoded, storedSource(agentId, caller, policy), authContext);
    if (authorization.standing === 'refused') {
      log.warn({ peer: agentId, reason: authorization.reason }, 'stored announce is not authorized any more');
      if (configured.has(agentId) || agentId === options.self) return;
    }
    const entry = entries.get(agentId) ?? newEntry();
    entry.announce = decoded;
    entry.receivedAt = receivedAt;
    entry.caller = caller;
    entry.joined = authorization.standing === 'joined' ? withUrlKey(authorization.joined) : undefined;
    const slot = keepsPlace(agentId) ? { evicted: undefined } : evictFor(entry);
    if (slot) put(agentId, entry);
    const evicted = slot ? slot.evicted : agentId;
    if (evicted !== undefined)
      options.ledger
        .forgetPeer(evicted)
        .catch((err) => log.warn({ peer: evicted, err }, 'evicted peer not removed from the ledger'));
  }

  function put(name: string, entry: PeerEntry): void {
    if (entries.get(name) !== entry) sorted = undefined;
    entries.set(name, entry);
  }

  function notifyListeners(): void {
    for (const listener of [...listeners]) {
      try {
        listener();
      } catch (err) {
        log.error({ err }, 'a listener of the peers failed');
      }
    }
  }

  /** Makes room for a new peer; undefined if the others have precedence, else the evicted peer, if any. */
  function evictFor(newcomer: PeerEntry): { readonly evicted: string | undefined } | undefined {
    const others = [...entries].filter(([name]) => !keepsPlace(name));
    const evicted = peerToEvict(others, newcomer, clock.now());
    if (evicted === NEWCOMER) return undefined;
    if (evicted !== undefined && entries.delete(evicted)) sorted = undefined;
    return { evicted };
  }

  function apply(
    announce: SessionAnnounce,
    from: AnnounceSource,
    authorization: Exclude<Authorization, { standing: 'refused' }>,
  ): PeerEntry {
    const { agentId } = announce.worker;
    const entry = entries.get(agentId) ?? newEntry();
    entry.announce = announce;
    entry.receivedAt = clock.now();
    entry.joined = authorization.standing === 'joined' ? withUrlKey(authorization.joined) : undefined;
    entry.caller = entry.joined?.caller ?? (from.scopes && from.name);
    entry.health.recordAnswer();
    if (hasRoom(announce)) entry.health.load.recordRoom();
    return entry;
  }

  return {
    /** The peer, or this profile, that is at the address already, if it is another one than `agentId`. */
    ownerOf: (url: string, agentId: string): string | undefined => ownerOf(url, agentId, authContext),
    /** The worker has joined with a join token, or its membership has changed: it is a peer, also before its first announce. */
    admitted(name: string): void {
      admit(name);
      notifyListeners();
    },
    /** The worker is no member any more: it is forgotten, and never routed to. Its stored announce is removed by the ledger. */
    removed(name: string): void {
      if (configured.has(name) || !entries.delete(name)) return;
      sorted = undefined;
      log.info({ peer: name }, 'a worker is no member any more');
      notifyListeners();
    },
    /**
     * Records an announce that is authorized (docs/handshake.md#announce-authorization) and newer than the recorded one.
     * `recorded` is durable. After STORE_UNAVAILABLE the announce counts in this process, and is lost at a restart.
     */
    async record(announce: SessionAnnounce, from: AnnounceSource): Promise<Recorded> {
      const { agentId } = announce.worker;
      const refuse = (reason: string): Recorded => {
        log.warn({ peer: agentId, caller: from.name, reason }, 'announce not believed');
        return { outcome: 'refused', reason };
      };
      const now = clock.now();
      const implausible = seqProblem(announce, now);
      if (implausible !== undefined) return refuse(implausible);
      const authorization = authorizeAnnounce(announce, from, authContext);
      if (authorization.standing === 'refused') return refuse(authorization.reason);
      const previous = entries.get(agentId);
      const at = { expired: previous !== undefined && hasExpired(previous), now };
      if (previous && !supersedes(announce, authorization, previous, at)) return { outcome: 'ignored' };
      const wire = encodeAnnounce(announce);
      if (authorization.standing !== 'configured' && JSON.stringify(wire).length > MAX_ANNOUNCE_CHARS)
        return refuse(`it is longer than ${MAX_ANNOUNCE_CHARS} characters`);
      const before = previous && profile(agentId, previous);
      const entry = apply(announce, from, authorization);
      const slot = previous ? { evicted: undefined } : evictFor(entry);
      if (!slot)
        return refuse(
          `the limit of ${MAX_UNCONFIGURED} unconfigured peers is reached, and all of them have precedence`,
        );
      put(agentId, entry);
      const after = profile(agentId, entry);
      logStandingChange(log, before, after, authorization);
      // Notify before the write: routing uses the entry from now on, and an equal later announce would notify nobody.
      if (!isSameForRouting(before, after, clock.now())) notifyListeners();
      await Promise.all([
        ...(slot.evicted === undefined ? [] : [options.ledger.forgetPeer(slot.evicted)]),
        options.ledger.savePeer({
          agentId,
          announce: wire,
          receivedAt: entry.receivedAt ?? clock.now(),
          ...(entry.caller === undefined ? {} : { caller: entry.caller }),
        }),
      ]);
      return { outcome: 'recorded' };
    },
    /** Every configured peer, and every other that announced itself, sorted by name. */
    list(): PeerProfile[] {
      sorted ??= [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
      return sorted.map(([name, entry]) => profile(name, entry));
    },
    get(name: string): PeerProfile | undefined {
      const entry = entries.get(name);
      return entry && profile(name, entry);
    },
    /** Calls the listener after an input of routing has changed. An equal heartbeat is not a change. */
    onChange(listener: () => void): Disposable {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    /**
     * True for the token of a configured peer, and for one with which a worker has joined: what it says of the callers of its
     * tasks is believed. False for a secret that several callers share.
     */
    isMember(caller: string): boolean {
      if (caller === SHARED_CALLER.name) return false;
      if (configured.has(caller)) return true;
      for (const { joined } of entries.values()) if (joined?.caller === caller) return true;
      return false;
    },
    /**
     * Aborts, with PEER_UNREACHABLE, when a worker that joined with a join token is no member any more; undefined for any other
     * peer.
     */
    membership: (name: string): AbortSignal | undefined => policy.workers?.membership(name),
    /** Undefined for an unknown peer. */
    health: (name: string): PeerHealth | undefined => entries.get(name)?.health,
    /** See `cardUrlOf`. */
    cardUrl: (name: string): string | undefined => cardUrlOf(entries.get(name)),
    /** Records the declarations of an agent card that was read just now. */
    recordCard(name: string, { handshake, versions, rpcUrl }: Omit<PeerCard, 'readAt'>): void {
      const entry = entries.get(name);
      if (!entry) return;
      const previous = entry.card;
      const now = clock.now();
      entry.card = { handshake, versions: [...versions], rpcUrl, readAt: now };
      const news =
        previous?.handshake !== handshake ||
        previous.rpcUrl !== rpcUrl ||
        previous.versions.join() !== versions.join() ||
        !isWithin(previous.readAt, CARD_TTL_MS, now);
      if (news) notifyListeners();
    },
  };
}
