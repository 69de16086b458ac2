import { type TaskDispatch, type Unmet, UnmetKind } from '@hermes-fleet/protocol/handshake';
import type { AdmittedTask, Count, RunOutcome } from '@hermes-fleet/protocol/ports';

export type Lineage = { readonly path?: unknown; readonly parent?: unknown };

/** How a task ended, for the counters of decisions (docs/metrics.md). */
export type Decision =
  /** No work began. `saved` is the budget, or the estimate, of the task; 0 if tokens were spent. */
  | { readonly kind: 'blocked'; readonly unmet: readonly Unmet[]; readonly saved: number }
  | { readonly kind: 'accepted' };

/** True for a dispatch that another profile sent on; its task has entered the fleet elsewhere. */
export function isSentOn({ path, parent }: Lineage | TaskDispatch['task']): boolean {
  return (Array.isArray(path) && path.length > 0) || parent !== undefined;
}

/**
 * The counts of a decision. It counts once, at the profile where the task entered the fleet, together with the tokens that
 * blocking it saved. Elsewhere a blocked task counts as a refusal between peers, and an accepted one not at all.
 */
export function decisionCounts(lineage: Lineage, decision: Decision): Count[] {
  const sentOn = isSentOn(lineage);
  if (decision.kind === 'accepted')
    return sentOn ? [] : [{ counter: 'admissions', labels: ['accepted', 'none'], by: 1 }];
  const reason = reasonOf(decision.unmet);
  if (sentOn) return [{ counter: 'peer_refusals', labels: [reason], by: 1 }];
  return [
    { counter: 'admissions', labels: ['blocked', reason], by: 1 },
    ...(decision.saved > 0 ? [{ counter: 'tokens_saved' as const, labels: [], by: decision.saved }] : []),
  ];
}

/** The kind of the first unmet requirement. A peer may use words of its own, which must not fill the ledger. */
function reasonOf(unmet: readonly Unmet[]): string {
  const kind: string = unmet[0]?.kind ?? 'peer';
  return KINDS.has(kind) ? kind : 'other';
}

const KINDS: ReadonlySet<string> = new Set(UnmetKind.options);

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

/** Estimates the cost of a task that was blocked: its token budget, else its brief at 4 bytes per token. */
export function estimateTokens(dispatch: TaskDispatch): number {
  return dispatch.task.tokenBudget ?? Math.ceil(Buffer.byteLength(dispatch.brief) / 4);
}
