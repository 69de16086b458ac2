import type { PeerRegistry } from '@hermes-fleet/peers';
import { isLive, type PeerProfile, takesTasks } from '@hermes-fleet/peers';
import type { Clock, RemoteAgents } from '@hermes-fleet/protocol';
import { ToolError } from '@hermes-fleet/protocol';
import { cappedText } from './capped.ts';
import type { HandOver } from './hand-over.ts';

const MAX_LISTED = 50;
const MAX_PURPOSE = 200;

/**
 * Fleet peers as agents that `delegate` can hand work to: listed while they are live and take work, by their name and
 * purpose (design 3, Sub-agents).
 */
export function createFleetRemotes(o: {
  readonly peers: Pick<PeerRegistry, 'list' | 'get'>;
  readonly handOver: HandOver;
  readonly clock: Clock;
}): RemoteAgents {
  return {
    list() {
      const now = o.clock.now();
      return o.peers
        .list()
        .filter((peer) => isOffered(peer, now))
        .slice(0, MAX_LISTED)
        .map(({ name, announce }) => ({ name, description: describe(announce?.purpose, announce?.role) }));
    },
    async send(name, { brief, tokenBudget }, call) {
      // Also one that is away just now: a call that began before a restart still has its work there.
      if (!o.peers.get(name)?.endpoint) throw new ToolError(`${name} is no peer; fleet_peers lists them`);
      return o.handOver({ agent: name, brief, tokenBudget }, call);
    },
  };
}

function isOffered(peer: PeerProfile, now: number): boolean {
  const { announce, endpoint } = peer;
  return endpoint !== undefined && announce !== undefined && isLive(peer, now) && takesTasks(announce);
}

function describe(purpose: string | undefined, role: string | undefined): string {
  return cappedText((purpose ?? role ?? 'a peer').replace(/\s+/g, ' '), MAX_PURPOSE);
}

/** Both as one; of two with the same name, the first's is meant. */
export function joinRemotes(first: RemoteAgents, second: RemoteAgents): RemoteAgents {
  const isFirsts = (name: string): boolean => first.list().some((agent) => agent.name === name);
  return {
    list: () => [...first.list(), ...second.list().filter(({ name }) => !isFirsts(name))],
    send: (name, work, call) => (isFirsts(name) ? first : second).send(name, work, call),
  };
}
