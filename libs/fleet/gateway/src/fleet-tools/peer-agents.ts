import { isLive, type PeerProfile, type PeerRegistry, takesTasks } from '@hermes-fleet/peers';
import { type Clock, type RemoteAgents, ToolError } from '@hermes-fleet/protocol/ports';
import { truncateText } from '../tool-support/truncate.ts';
import type { DelegateSubtask } from './delegate-subtask.ts';

const MAX_LISTED = 50;
const MAX_PURPOSE = 200;

/** The fleet peers that `delegate` offers, with their purpose, while they are live and accept tasks (docs/agent.md#sub-agents). */
export function createPeerAgents({
  peers,
  delegateSubtask,
  clock,
}: {
  readonly peers: Pick<PeerRegistry, 'list' | 'get'>;
  readonly delegateSubtask: DelegateSubtask;
  readonly clock: Clock;
}): RemoteAgents {
  return {
    list() {
      const now = clock.now();
      return peers
        .list()
        .filter((peer) => isOffered(peer, now))
        .slice(0, MAX_LISTED)
        .map(({ name, announce }) => ({ name, description: describe(announce?.purpose, announce?.role) }));
    },
    async send(name, { brief, tokenBudget }, call) {
      // Accepts a peer that is not live: after a restart, its work may still be there.
      if (!peers.get(name)?.endpoint) throw new ToolError(`${name} is not a peer; fleet_peers lists them`);
      return delegateSubtask({ agent: name, brief, tokenBudget }, call);
    },
  };
}

function isOffered(peer: PeerProfile, now: number): boolean {
  const { announce, endpoint } = peer;
  return endpoint !== undefined && announce !== undefined && isLive(peer, now) && takesTasks(announce);
}

function describe(purpose: string | undefined, role: string | undefined): string {
  return truncateText((purpose ?? role ?? 'a peer').replace(/\s+/g, ' '), MAX_PURPOSE);
}

/** Joins two lists of agents; on a name conflict, the agent in the first list is used. */
export function mergeRemoteAgents(first: RemoteAgents, second: RemoteAgents): RemoteAgents {
  const isInFirst = (name: string): boolean => first.list().some((agent) => agent.name === name);
  return {
    list: () => [...first.list(), ...second.list().filter(({ name }) => !isInFirst(name))],
    send: (name, work, call) => (isInFirst(name) ? first : second).send(name, work, call),
  };
}
