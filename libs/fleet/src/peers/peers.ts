import type { Ledger } from '@hermes-fleet/ledger';
import {
  type Caller,
  type Clock,
  decodeAnnounce,
  encodeAnnounce,
  type Log,
  type SessionAnnounce,
} from '@hermes-fleet/protocol';
import { type ConfiguredPeer, SHARED_CALLER } from '../config/credentials.ts';
import { samePeerUrl } from '../config/peer-url.ts';
import { type Behaviour, newBehaviour } from './behaviour.ts';
import { isLive, type PeerProfile } from './profile.ts';

/** What became of an announce: `ignored` is an older one than is known already. */
export type Recorded =
  | { readonly outcome: 'recorded' | 'ignored' }
  | { readonly outcome: 'refused'; readonly reason: string };

/** The peers of a profile: configured ones, and what each said last. Survives a restart. */
export interface Peers {
  /**
   * Keeps an announce if it may be believed: it must come from the caller that it names, from the configured address,
   * and be newer than what is known (design 2, SESSION_ANNOUNCE). Durable when it resolves.
   */
  record(announce: SessionAnnounce, caller: Pick<Caller, 'name'>): Promise<Recorded>;
  /** Every configured peer, and every other that announced itself, by name. */
  list(): PeerProfile[];
  get(name: string): PeerProfile | undefined;
  /** Tells after anything changed that routing reads of a peer; a heartbeat that says the same is no change. */
  onChange(listener: () => void): Disposable;
  /** How a peer behaves, as the relay sees it; undefined for an unknown peer. */
  behaviour(name: string): Behaviour | undefined;
}

interface Entry {
  readonly configured: ConfiguredPeer | undefined;
  readonly behaviour: Behaviour;
  announce: SessionAnnounce | undefined;
  receivedAt: number | undefined;
}

export interface PeersOptions {
  readonly ledger: Pick<Ledger, 'peers' | 'savePeer'>;
  readonly configured: Readonly<Record<string, ConfiguredPeer>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly self: string;
}

export function createPeers(o: PeersOptions): Peers {
  const entries = new Map<string, Entry>();
  const listeners = new Set<() => void>();
  for (const [name, configured] of Object.entries(o.configured))
    entries.set(name, newEntry(o.clock, configured));
  load(o, entries);

  const hasExpired = ({ announce, receivedAt }: Entry): boolean =>
    !isLive({ announce, receivedAt }, o.clock.now());

  function refusal(announce: SessionAnnounce, caller: string): string | undefined {
    const { agentId } = announce.worker;
    const known = entries.get(agentId)?.configured;
    if (agentId === o.self) return `${agentId} is this profile itself`;
    if (agentId !== caller && !(caller === SHARED_CALLER.name && known))
      return `caller ${caller} may not speak for ${agentId}`;
    if (known && announce.endpoint !== undefined && !samePeerUrl(announce.endpoint, known.url))
      return `${agentId} says that it is at ${announce.endpoint}, but is configured at ${known.url}`;
    return undefined;
  }

  return {
    async record(announce, caller) {
      const reason = refusal(announce, caller.name);
      const { agentId } = announce.worker;
      if (reason !== undefined) {
        o.log.warn({ peer: agentId, caller: caller.name, reason }, 'announce not believed');
        return { outcome: 'refused', reason };
      }
      const entry = entries.get(agentId) ?? newEntry(o.clock, undefined);
      if (entry.announce && !isNewer(announce, entry.announce, hasExpired(entry)))
        return { outcome: 'ignored' };
      const receivedAt = o.clock.now();
      entry.announce = announce;
      entry.receivedAt = receivedAt;
      entry.behaviour.answered();
      entries.set(agentId, entry);
      await o.ledger.savePeer({ agentId, announce: encodeAnnounce(announce), receivedAt });
      for (const listener of listeners) listener();
      return { outcome: 'recorded' };
    },
    list: () =>
      [...entries].map(([name, entry]) => profileOf(name, entry)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    get(name) {
      const entry = entries.get(name);
      return entry && profileOf(name, entry);
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    behaviour: (name) => entries.get(name)?.behaviour,
  };
}

/**
 * Whether `next` is to replace `known`: the greater instance, then the greater sequence; without them, the later one.
 * An instance that has expired gives way to any other, so that a restart on a clock that was set back is heard again.
 */
function isNewer(next: SessionAnnounce, known: SessionAnnounce, expired: boolean): boolean {
  if (next.instanceId === undefined || known.instanceId === undefined) return true;
  if (next.instanceId !== known.instanceId) return expired || next.instanceId > known.instanceId;
  return (next.seq ?? 0) > (known.seq ?? 0);
}

function newEntry(clock: Clock, configured: ConfiguredPeer | undefined): Entry {
  return { configured, behaviour: newBehaviour(clock), announce: undefined, receivedAt: undefined };
}

function load(o: PeersOptions, entries: Map<string, Entry>): void {
  for (const { agentId, announce, receivedAt } of o.ledger.peers()) {
    const entry = entries.get(agentId) ?? newEntry(o.clock, undefined);
    try {
      entry.announce = decodeAnnounce(announce);
      entry.receivedAt = receivedAt;
      entries.set(agentId, entry);
    } catch (error) {
      o.log.warn(
        { peer: agentId, err: error },
        'stored announce is not readable any more: waiting for a new one',
      );
    }
  }
}

function profileOf(name: string, { configured, announce, receivedAt, behaviour }: Entry): PeerProfile {
  return {
    name,
    standing: configured ? 'configured' : 'known',
    card: undefined,
    endpoint: configured && { name, ...configured },
    announce,
    receivedAt,
    ...behaviour.snapshot(),
  };
}
