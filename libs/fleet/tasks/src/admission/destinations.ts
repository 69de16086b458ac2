import type { FleetConfig } from '@hermes-fleet/fleet-config';
import type { McpPool } from '@hermes-fleet/mcp';
import type { PeerRegistry } from '@hermes-fleet/peers';
import { measureBrief, NO_MODEL, type RoutingDecision, route, routingPolicy } from '@hermes-fleet/peers';
import type { TaskDispatch, Unmet } from '@hermes-fleet/protocol/handshake';
import type { Caller, Clock, Executor, ModelWatch, RepoState } from '@hermes-fleet/protocol/ports';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import type { Destination } from '../scheduling/judge.ts';
import type { TaskQueue } from '../scheduling/task-queue.ts';
import { isOwnWork, type Spending } from '../spending/spending.ts';
import { type AdmissionInputs, admit, admitRelayed } from './checks.ts';

export interface DestinationsOptions {
  readonly profile: string;
  readonly versions: readonly string[];
  readonly config: FleetConfig;
  readonly clock: Clock;
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly mcp: Pick<McpPool, 'names' | 'probe'>;
  /** The measured health of the agent's model; absent for a member without a model. */
  readonly model: ModelWatch | undefined;
  readonly agent: {
    readonly executor: Executor;
    capabilities(): { readonly tools: readonly string[] };
    readonly minimumBudget: number;
    /** Names the resource that the machine is short of for a new task; absent for an agent that needs nothing. */
    shortage?(): Unmet | undefined;
  };
  repoState(): Promise<RepoState>;
  readonly spending: Pick<Spending, 'unmet' | 'reserve' | 'ended'>;
  /** Tasks for the profile's own agent. */
  readonly own: TaskQueue;
  /** Tasks for peers. */
  readonly relayed: TaskQueue;
}

/** Decides whether a dispatch runs here or at a peer, and checks its admission there. */
export function createDestinations(options: DestinationsOptions) {
  const { profile, versions, config, own, relayed, spending } = options;
  const { limits, routing, tiers, orchestrate } = config.fleet;
  const policy = routingPolicy(config, profile, versions);

  const inputsFor = (queue: TaskQueue, caller: string): AdmissionInputs => ({
    self: profile,
    versions,
    tiers,
    now: options.clock.now(),
    model: options.agent.executor.model,
    capabilities: options.agent.capabilities().tools,
    mcp: options.mcp,
    modelWatch: options.model,
    repoState: options.repoState,
    countTokens,
    minimumBudget: options.agent.minimumBudget,
    shortage: () => options.agent.shortage?.(),
    queue: { full: queue.isFullFor(caller), waiting: queue.waiting },
    ceilings: spending.unmet,
  });

  /** Routes the dispatch among the current peers, without sending it. */
  async function decide(dispatch: TaskDispatch): Promise<RoutingDecision> {
    const known = options.peers.list();
    const briefTokens = await measureBrief(dispatch, known);
    return route(dispatch, known, { ...policy, briefTokens }, options.clock.now());
  }

  const ownAgent: Destination = {
    queue: own,
    maxResumes: limits.max_resumes,
    check: (dispatch, caller) => admit({ dispatch, caller, inputs: inputsFor(own, caller.name) }),
    reserveTokens: spending.reserve,
    releaseTokens: spending.ended,
  };
  const peersDestination: Destination = {
    queue: relayed,
    // Polling a peer costs nothing; giving up would lose its work.
    maxResumes: Number.POSITIVE_INFINITY,
    async check(dispatch, caller) {
      const unmet = await admitRelayed({ dispatch, caller, inputs: inputsFor(relayed, caller.name) });
      if (unmet.length > 0) return unmet;
      const decision = await decide(dispatch);
      const { onBlocked = routing.on_blocked, whenFull } = dispatch.routing ?? {};
      const mayWait = onBlocked !== 'fail' && whenFull !== 'refuse';
      return mayWait && decision.waitable ? [] : [...decision.unmet];
    },
    reserveTokens: spending.reserve,
    releaseTokens: spending.ended,
  };

  function destinationOf(dispatch: TaskDispatch): Destination {
    // A profile that takes no tasks relays none.
    if (options.agent.executor.model.tier === NO_MODEL.tier) return ownAgent;
    return isOwnWork(dispatch, profile, orchestrate) ? ownAgent : peersDestination;
  }

  return {
    destinationOf,
    decide,
    /**
     * Checks what this profile requires of a subtask of its own agent at a peer; the peers' capabilities are not considered,
     * and the budget is a part of its task's.
     */
    checkSubtask: (dispatch: TaskDispatch, caller: Caller): Promise<readonly Unmet[]> =>
      admitRelayed({ dispatch, caller, inputs: { ...inputsFor(relayed, caller.name), ceilings: () => [] } }),
    /**
     * Checks admission as for a caller with the scope `dispatch`, for explanations that need only the scope `read`. Does
     * not check whether a peer can take the dispatch; see `decide`.
     */
    async checkNow(dispatch: TaskDispatch): Promise<{ own: boolean; unmet: readonly Unmet[] }> {
      const isOwn = destinationOf(dispatch) === ownAgent;
      const caller = { name: profile, scopes: new Set(['dispatch'] as const) };
      const check = isOwn ? admit : admitRelayed;
      return {
        own: isOwn,
        unmet: await check({ dispatch, caller, inputs: inputsFor(isOwn ? own : relayed, profile) }),
      };
    },
  };
}
