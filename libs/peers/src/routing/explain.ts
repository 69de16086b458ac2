import type { JsonObject, TaskDispatch, Unmet } from '@hermes-fleet/protocol';
import { readDispatch } from '@hermes-fleet/protocol';
import type { RoutingDecision } from './route.ts';

export interface ExplainOptions {
  readonly profile: string;
  /** The handshake versions that this profile speaks. */
  readonly versions: readonly string[];
  /** Whether the profile would do it itself, and what its admission has against it. */
  readonly judge: (
    dispatch: TaskDispatch,
  ) => Promise<{ readonly own: boolean; readonly unmet: readonly Unmet[] }>;
  readonly decide: (dispatch: TaskDispatch) => Promise<RoutingDecision>;
}

/**
 * Where a dispatch, as on the wire, would go at this moment, and why: admission and routing as the real ones do it,
 * nothing recorded, no token spent (design 2, Routing). Throws INVALID_PARAMS naming every wrong field.
 */
export async function explainDispatch(options: ExplainOptions, wire: JsonObject): Promise<RoutingDecision> {
  const reading = readDispatch(wire, options.versions);
  if (reading.kind === 'foreign')
    return { chosen: undefined, considered: [], unmet: reading.unmet, waitable: false };
  const { own, unmet } = await options.judge(reading.dispatch);
  if (own) return ownDecision(options.profile, unmet);
  const decision = await options.decide(reading.dispatch);
  return unmet.length > 0 ? notAdmitted(decision, unmet) : decision;
}

function ownDecision(profile: string, unmet: readonly Unmet[]): RoutingDecision {
  const free = unmet.length === 0;
  const reasons = free ? ['does it itself: no peer is asked'] : unmet.map(({ detail }) => detail);
  return {
    chosen: free ? profile : undefined,
    considered: [{ peer: profile, verdict: free ? 'chosen' : 'excluded', reasons, score: free ? 100 : 0 }],
    unmet,
    waitable: false,
  };
}

/** The profile does not even take it, whatever a peer could do; and it waits for nothing that it lacks itself. */
function notAdmitted(decision: RoutingDecision, unmet: readonly Unmet[]): RoutingDecision {
  return {
    chosen: undefined,
    considered: decision.considered.map((each) =>
      each.verdict === 'chosen' ? { ...each, verdict: 'eligible' } : each,
    ),
    unmet,
    waitable: false,
  };
}
