import type { JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch, Unmet } from '@hermes-fleet/protocol/handshake';
import { readDispatch } from '@hermes-fleet/protocol/handshake';
import type { RoutingDecision } from './route.ts';

export interface ExplainOptions {
  readonly profile: string;
  /** Supported handshake versions. */
  readonly versions: readonly string[];
  /** Checks the profile's admission; `own` = the profile executes the dispatch itself. */
  readonly judge: (
    dispatch: TaskDispatch,
  ) => Promise<{ readonly own: boolean; readonly unmet: readonly Unmet[] }>;
  readonly decide: (dispatch: TaskDispatch) => Promise<RoutingDecision>;
}

/**
 * Explains where a dispatch (in its wire form) would go now, and why (docs/handshake.md#routing). Records nothing and
 * spends no token. Throws INVALID_PARAMS, which names every wrong field.
 */
export async function explainDispatch(options: ExplainOptions, wire: JsonObject): Promise<RoutingDecision> {
  const decoded = readDispatch(wire, options.versions);
  if (decoded.kind === 'foreign')
    return { chosen: undefined, considered: [], unmet: decoded.unmet, waitable: false };
  const { own, unmet } = await options.judge(decoded.dispatch);
  if (own) return ownDecision(options.profile, unmet);
  const decision = await options.decide(decoded.dispatch);
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

/** The profile itself refuses the dispatch, so no peer is chosen and waiting does not help. */
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
