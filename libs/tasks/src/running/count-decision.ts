import type { AdmittedTask, RunOutcome, TaskDispatch, Unmet } from '@hermes-fleet/protocol';
import type { FleetMetrics } from '@hermes-fleet/service';
import { estimateTokens } from './estimate-tokens.ts';

type Lineage = { readonly path?: unknown; readonly parent?: unknown };

/** How a task ended, for the counters of decisions. */
export type Decision =
  /** No work began. `saved` is the budget, or the estimate, of the task; 0 if tokens were spent. */
  | { readonly kind: 'blocked'; readonly unmet: readonly Unmet[]; readonly saved: number }
  | { readonly kind: 'accepted' };

/** True for a dispatch that another profile sent on; its task has entered the fleet elsewhere. */
export function isSentOn({ path, parent }: Lineage | TaskDispatch['task']): boolean {
  return (Array.isArray(path) && path.length > 0) || parent !== undefined;
}

/**
 * Counts the decision about a task once, at the profile where the task entered the fleet, together with the tokens that
 * blocking it saved. Elsewhere a blocked task counts as a refusal between peers, and an accepted one not at all.
 */
export function countDecision(
  metrics: Pick<FleetMetrics, 'admission' | 'peerRefusal' | 'tokensSaved'>,
  lineage: Lineage,
  decision: Decision,
): void {
  const sentOn = isSentOn(lineage);
  if (decision.kind === 'accepted') {
    if (!sentOn) metrics.admission('accepted', 'none');
    return;
  }
  const reason = decision.unmet[0]?.kind ?? 'peer';
  if (sentOn) metrics.peerRefusal(reason);
  else {
    metrics.admission('blocked', reason);
    metrics.tokensSaved(decision.saved);
  }
}

/**
 * The decision about a task whose run has ended. Undefined for one that was canceled or failed before anybody began it.
 */
export function decisionOn(
  task: Pick<AdmittedTask, 'dispatch'>,
  outcome: RunOutcome,
  spent: number,
): Decision | undefined {
  const { unmet = [] } = outcome;
  if (outcome.status === 'blocked' && unmet.length > 0)
    return { kind: 'blocked', unmet, saved: spent === 0 ? estimateTokens(task.dispatch) : 0 };
  return hasRun(outcome) ? { kind: 'accepted' } : undefined;
}

/** The status of an attempt at a peer that did not begin the task. */
const NOT_BEGUN: ReadonlySet<string> = new Set(['blocked', 'refused', 'unreachable']);

/** True unless the task was relayed and no peer began it. */
function hasRun({ attempts }: RunOutcome): boolean {
  return attempts === undefined || attempts.some(({ status }) => !NOT_BEGUN.has(status));
}
