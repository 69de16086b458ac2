import type { Concern } from '@hermes-fleet/market';
import type { ControlDecision, ControlResponse } from '@hermes-fleet/protocol/control';
import { nextState, raisesRisk } from './actions.ts';
import { CHECKS } from './checks.ts';
import type { Facts } from './facts.ts';
import { createDraft, type Draft, summaryOf } from './response-draft.ts';

export interface Verdict {
  readonly response: ControlResponse;
  /** The new state of the concern; absent if nothing changes. */
  readonly next?: Concern;
  /** The response is stored as the answer to this decision_id. */
  readonly isFirst: boolean;
}

const UNCHANGED: ControlResponse['result'] = { modeChange: 'none', reconciled: true };

/**
 * Judges a well-formed decision by the decision table (docs/trader.md#decision-table). Pure: the same facts give the same
 * verdict. Equal fingerprints mean equal payloads.
 */
export function judge(request: ControlDecision, fingerprint: string, facts: Facts): Verdict {
  const draft = createDraft(summaryOf(request));
  draft.validation.schemaValid = true;
  return judgeRepeat(request, fingerprint, facts, draft) ?? judgeNew(request, facts, draft);
}

/**
 * The verdict on a repeated decision; undefined for a new decision, and for one that failed and may be retried. A dry run
 * with a used id gets the verdict that the decision would get. */
function judgeRepeat(
  request: ControlDecision,
  fingerprint: string,
  { previous, concern }: Facts,
  draft: Draft,
): Verdict | undefined {
  if (previous === undefined) return undefined;
  if (previous.fingerprint !== fingerprint) {
    const message = 'this decision_id was used for another payload; use a new one';
    const errors = [{ code: 'decision_id_conflict' as const, field: 'decision_id', message }];
    const ends = { status: 'rejected' as const, result: UNCHANGED, before: concern, after: concern, errors };
    return { response: draft.answer(ends), isFirst: false };
  }
  const { response } = previous;
  if (response.status === 'failed') return undefined;
  const answer = duplicateAnswer(response);
  return { response: request.dryRun ? simulated(answer) : answer, isFirst: false };
}

/** The answer to a dry run of a decision that would get this answer. */
const simulated = (answer: ControlResponse): ControlResponse => ({
  ...answer,
  dryRun: true,
  result: answer.ok
    ? { modeChange: 'simulated', reconciled: true, wouldStatus: answer.status }
    : { ...answer.result },
  appliedAt: null,
});

/** The answer to a copy: a no-op with the result of the first. */
export function duplicateAnswer(response: ControlResponse): ControlResponse {
  if (!response.ok) return response;
  const code = 'duplicate_decision' as const;
  const warnings = [
    ...response.warnings,
    { code, message: 'this decision was already made; this is its result' },
  ];
  return { ...response, status: 'noop', warnings };
}

function judgeNew(request: ControlDecision, facts: Facts, draft: Draft): Verdict {
  const { concern, now } = facts;
  const isFirst = !request.dryRun;
  for (const check of CHECKS) {
    const errors = check(request, facts, draft);
    if (errors.length === 0) continue;
    const ends = { status: 'rejected' as const, result: UNCHANGED, before: concern, after: concern, errors };
    return { response: draft.answer(ends), isFirst };
  }
  if (concern === undefined) throw new Error('a decision without a concern passed the checks');
  // A decision that was made since the caller looked may restrict more than this one.
  const isTooLate = facts.onlyRestricts === true && raisesRisk(request, concern);
  const next = isTooLate ? undefined : nextState(request, concern);
  const isSwitched = next !== undefined && next.activeStrategyId !== concern.activeStrategyId;
  if (isSwitched && next.runState === 'paused')
    draft.warn('stays_paused', 'the concern stays paused: resume it to run the new strategy');
  const status = next === undefined ? 'noop' : 'applied';
  if (request.dryRun) {
    const result = { modeChange: 'simulated' as const, reconciled: true, wouldStatus: status } as const;
    const ends = { status: 'noop' as const, result, before: concern, after: next ?? concern };
    return { response: draft.answer(ends), isFirst };
  }
  if (next === undefined)
    return {
      response: draft.answer({ status, result: UNCHANGED, before: concern, after: concern }),
      isFirst,
    };
  const result = { modeChange: 'applied' as const, reconciled: true };
  return {
    response: draft.answer({ status, result, before: concern, after: next, appliedAt: now }),
    next,
    isFirst,
  };
}
