import type { FleetConfig } from '@hermes-fleet/fleet-config';
import type { McpPool } from '@hermes-fleet/mcp';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { measureBrief, NO_MODEL, type RoutingDecision, route, routingPolicy } from '@hermes-fleet/peers';
import type { Caller, Clock, Executor, TaskDispatch, Unmet } from '@hermes-fleet/protocol';
import { countTokens } from '@hermes-fleet/tokens';
import type { Destination } from '../scheduling/dispatcher.ts';
import type { TaskQueue } from '../scheduling/task-queue.ts';
import { type AdmissionInputs, admit, admitRelayed } from './checks.ts';

export interface DestinationsOptions {
  readonly profile: string;
  readonly versions: readonly string[];
  readonly config: FleetConfig;
  readonly clock: Clock;
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly mcp: Pick<McpPool, 'names' | 'probe'>;
  readonly agent: {
    readonly executor: Executor;
    capabilities(): { readonly tools: readonly string[] };
    readonly minimumBudget: number;
  };
  repoState(): Promise<{ readonly branch: string; readonly clean: boolean }>;
  /** Tasks for the profile's own agent. */
  readonly own: TaskQueue;
  /** Tasks for peers. */
  readonly relayed: TaskQueue;
}

/** Decides whether a dispatch runs here or at a peer, and checks its admission there. */
export interface Destinations {
  destinationOf(dispatch: TaskDispatch): Destination;
  /** Routes the dispatch among the current peers, without sending it. */
  decide(dispatch: TaskDispatch): Promise<RoutingDecision>;
  /** Checks what this profile requires of a relayed dispatch; the peers' capabilities are not considered. */
  checkRelayed(dispatch: TaskDispatch, caller: Caller): Promise<Unmet[]>;
  /**
   * Checks admission as for a caller with the scope `dispatch`, for explanations that need only the scope `read`. Does
   * not check whether a peer can take the dispatch; see `decide`.
   */
  checkNow(dispatch: TaskDispatch): Promise<{ own: boolean; unmet: Unmet[] }>;
}

export function createDestinations(options: DestinationsOptions): Destinations {
  const { profile, versions, config, own, relayed } = options;
  const { limits, routing, tiers, orchestrate } = config.fleet;
  const policy = routingPolicy(config, profile, versions);

  const inputsFor = ({ full, waiting }: TaskQueue): AdmissionInputs => ({
    self: profile,
    versions,
    tiers,
    now: options.clock.now(),
    model: options.agent.executor.model,
    capabilities: options.agent.capabilities().tools,
    mcp: options.mcp,
    repoState: options.repoState,
    countTokens,
    minimumBudget: options.agent.minimumBudget,
    queue: { full, waiting },
  });

  async function decide(dispatch: TaskDispatch): Promise<RoutingDecision> {
    const known = options.peers.list();
    const briefTokens = await measureBrief(dispatch, known);
    return route(dispatch, known, { ...policy, briefTokens }, options.clock.now());
  }

  const ownAgent: Destination = {
    queue: own,
    maxResumes: limits.max_resumes,
    check: (dispatch, caller) => admit({ dispatch, caller, inputs: inputsFor(own) }),
  };
  const checkRelayed: Destinations['checkRelayed'] = (dispatch, caller) =>
    admitRelayed({ dispatch, caller, inputs: inputsFor(relayed) });
  const peersDestination: Destination = {
    queue: relayed,
    // Polling a peer costs nothing; giving up would lose its work.
    maxResumes: Number.POSITIVE_INFINITY,
    async check(dispatch, caller) {
      const unmet = await checkRelayed(dispatch, caller);
      if (unmet.length > 0) return unmet;
      const decision = await decide(dispatch);
      const { onBlocked = routing.on_blocked, whenFull } = dispatch.routing ?? {};
      const mayWait = onBlocked !== 'fail' && whenFull !== 'refuse';
      return mayWait && decision.waitable ? [] : [...decision.unmet];
    },
  };

  function destinationOf({ routing: requested }: TaskDispatch): Destination {
    // A profile that takes no tasks relays none.
    if (options.agent.executor.model.tier === NO_MODEL.tier) return ownAgent;
    const target = requested?.target ?? 'auto';
    return target === profile || (target === 'auto' && !orchestrate) ? ownAgent : peersDestination;
  }

  return {
    destinationOf,
    decide,
    checkRelayed,
    async checkNow(dispatch) {
      const isOwn = destinationOf(dispatch) === ownAgent;
      const caller = { name: profile, scopes: new Set(['dispatch'] as const) };
      const check = isOwn ? admit : admitRelayed;
      return {
        own: isOwn,
        unmet: await check({ dispatch, caller, inputs: inputsFor(isOwn ? own : relayed) }),
      };
    },
  };
}
