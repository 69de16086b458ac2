import type { A2AClient } from '@hermes-fleet/a2a';
import { endpointPatternProblem, type FleetConfig, type JoinPolicy } from '@hermes-fleet/fleet-config';
import type { Ledger } from '@hermes-fleet/ledger';
import type { PeerRegistry, WorkerDirectory } from '@hermes-fleet/peers';
import { FleetError, PROTOCOL_VERSIONS } from '@hermes-fleet/protocol';
import type { Caller, Clock, Ids, Log } from '@hermes-fleet/protocol/ports';
import { examinePeer } from '../doctor/examine-peer.ts';
import type { Finding } from '../doctor/finding.ts';
import { createJoinTokens } from './join-tokens.ts';
import { createMemberships } from './membership.ts';

export interface JoiningOptions {
  readonly profile: string;
  readonly config: FleetConfig;
  readonly policy: JoinPolicy;
  readonly ledger: Pick<Ledger, 'joins' | 'unfinished' | 'loadCheckpoint'>;
  readonly directory: WorkerDirectory;
  readonly peers: PeerRegistry;
  readonly client: Pick<A2AClient, 'card' | 'send' | 'fetch'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The most workers that join with a join token; default: 1,000. */
  readonly maxWorkers?: number | undefined;
}

export type Joining = ReturnType<typeof createJoining>;

/** Lets workers join an orchestrator with one command and one token (docs/peering.md#joining). */
export function createJoining(options: JoiningOptions) {
  const { profile, config, policy, ledger, directory, peers, clock } = options;
  const { tiers } = config.fleet;
  const nameProblem = (name: string): string | undefined => {
    if (name === profile) return 'is the name of this profile';
    if (peers.get(name)?.standing === 'configured') return 'is the name of a configured peer';
    return Object.hasOwn(policy.callers, name) ? 'is the name of a configured caller' : undefined;
  };
  const tokens = createJoinTokens({
    joins: ledger.joins,
    clock,
    tiers,
    endpoints: policy.endpoints,
    nameProblem,
    endpointProblem: endpointPatternProblem,
  });
  const memberships = createMemberships({
    ...options,
    request: options.client.fetch,
    tokens,
    tiers,
    nameProblem,
  });
  return {
    tokens,
    memberships,
    /** The worker, or the join token, that presents the token with this hash. Throws UNAUTHENTICATED. */
    callerOf: (digest: string): Caller | undefined => directory.callerOf(digest) ?? tokens.callerOf(digest),
    /** The checks of `fleet doctor` on a worker, as the orchestrator makes them. Throws NOT_FOUND. */
    async examine(name: string): Promise<readonly Finding[]> {
      memberships.of(name);
      const endpoint = peers.get(name)?.endpoint;
      const cardUrl = peers.cardUrl(name);
      if (!endpoint || cardUrl === undefined)
        throw new FleetError('NOT_FOUND', `${name} is no peer of ${profile}`);
      return examinePeer(
        { ...options, versions: PROTOCOL_VERSIONS },
        { endpoint, cardUrl, tokenEnv: 'the token of its join' },
      );
    },
  };
}
