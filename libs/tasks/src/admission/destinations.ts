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
  /** For tasks of the profile's own agent. */
  readonly own: TaskQueue;
  /** For tasks that peers are to do. */
  readonly relayed: TaskQueue;
}

/** Who executes a dispatch, and what admits it there (design 1, Who executes). */
export interface Destinations {
  destinationOf(dispatch: TaskDispatch): Destination;
  /** Where routing would send it now. */
  decide(dispatch: TaskDispatch): Promise<RoutingDecision>;
  /** What stands against having peers do it, whatever they can do. */
  checkRelayed(dispatch: TaskDispatch, caller: Caller): Promise<Unmet[]>;
  /**
   * What admission would say now to whoever may dispatch; for those who only ask, that they may read is enough. Whether
   * a peer can take it is for `decide`.
   */
  checkNow(dispatch: TaskDispatch): Promise<{ own: boolean; unmet: Unmet[] }>;
}

export function createDestinations(options: DestinationsOptions): Destinations {
  const { profile, versions, config, own, relayed } = options;
  const { limits, routing, tiers, orchestrate } = config.fleet;
  const policy = routingPolicy(config, profile, versions);

  const facts = ({ full, waiting }: TaskQueue): AdmissionInputs => ({
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

  const toOwn: Destination = {
    queue: own,
    maxResumes: limits.max_resumes,
    check: (dispatch, caller) => admit({ dispatch, caller, inputs: facts(own) }),
  };
  const judgeRelayed: Destinations['checkRelayed'] = (dispatch, caller) =>
    admitRelayed({ dispatch, caller, inputs: facts(relayed) });
  const toPeers: Destination = {
    queue: relayed,
    // Asking a peer for its task spends nothing; giving up would lose what it has done.
    maxResumes: Number.POSITIVE_INFINITY,
    async check(dispatch, caller) {
      const unmet = await judgeRelayed(dispatch, caller);
      if (unmet.length > 0) return unmet;
      const decision = await decide(dispatch);
      const mayWait = (dispatch.routing?.onBlocked ?? routing.on_blocked) !== 'fail';
      return mayWait && decision.waitable ? [] : [...decision.unmet];
    },
  };

  function gateOf({ routing: asked }: TaskDispatch): Destination {
    // Who takes no tasks passes none on either.
    if (options.agent.executor.model.tier === NO_MODEL.tier) return toOwn;
    const target = asked?.target ?? 'auto';
    return target === profile || (target === 'auto' && !orchestrate) ? toOwn : toPeers;
  }

  return {
    destinationOf: gateOf,
    decide,
    checkRelayed: judgeRelayed,
    async checkNow(dispatch) {
      const isOwn = gateOf(dispatch) === toOwn;
      const caller = { name: profile, scopes: new Set(['dispatch'] as const) };
      const judge = isOwn ? admit : admitRelayed;
      return { own: isOwn, unmet: await judge({ dispatch, caller, inputs: facts(isOwn ? own : relayed) }) };
    },
  };
}
