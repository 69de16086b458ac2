import type { Concern, Restriction } from '@hermes-fleet/market';
import type { ControlDecision, ControlResponse } from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { mayTouch } from './access.ts';
import { raisesRisk } from './actions.ts';
import { failedResponse, writeFailure } from './answers.ts';
import type { StoredFacts } from './control-store.ts';
import {
  type DecideParts,
  factsOf,
  fingerprintOf,
  type Ruling,
  type ScreenedAttempt,
  type Seen,
} from './decide-parts.ts';
import { judge } from './judge.ts';
import { createDraft, summaryOf } from './response-draft.ts';

/** A decision that could not be written. */
export interface Unwritten {
  readonly error: unknown;
  /** How it was judged, if it was. */
  readonly seen?: Seen | undefined;
  /** Writes it, or at least its effect. */
  readonly write: (effect: Restriction) => Promise<void>;
}

/**
 * The failed answer to a decision that could not be written. The previous state stays in effect, but for a decision that
 * lowers risk: that one takes effect in memory, and is written as soon as the store takes it.
 */
export function failUnwritten(
  options: DecideParts,
  given: ScreenedAttempt,
  { error, seen, write }: Unwritten,
): Ruling {
  const { caller, decision } = given;
  options.log.error({ err: error, decision_id: decision.decisionId }, 'a decision could not be written');
  const failure = writeFailure(error);
  const held =
    failure.code === 'store_unavailable'
      ? takeEffect(options, given, judgedNow(options, given, seen), write)
      : undefined;
  const draft = createDraft(summaryOf(decision));
  draft.validation.schemaValid = true;
  const result: ControlResponse['result'] = {
    modeChange: 'none',
    reconciled: true,
    ...(held !== undefined && { effect: 'held' }),
  };
  const unjudged = draft.answer({ status: 'failed', result, before: undefined, after: undefined });
  const before = visibleConcern(options, caller, decision.concernId);
  const message = held === undefined ? failure.message : `${failure.message}; ${held}`;
  const response = failedResponse(seen?.verdict.response ?? unjudged, {
    before,
    errors: [{ ...failure, message }],
    result,
  });
  return { response, httpStatus: 200, isAudited: false };
}

/** The judgment of the transaction, unless something came into effect since. */
const judgedNow = (options: DecideParts, given: ScreenedAttempt, seen: Seen | undefined): Seen | undefined =>
  seen !== undefined && !options.holds.isOwed(given.decision.concernId)
    ? seen
    : judgeUnwritten(options, given);

/** The verdict on a decision that is not written; undefined if the store cannot be read either. */
function judgeUnwritten(options: DecideParts, given: ScreenedAttempt): Seen | undefined {
  try {
    const { decision } = given;
    const facts = factsOf(options, given, readFacts(options, decision));
    return { facts, verdict: judge(decision, fingerprintOf(decision), facts) };
  } catch (error) {
    options.log.warn({ err: error, decision_id: given.decision.decisionId }, 'the store cannot be read');
    return undefined;
  }
}

/** The stored facts, with the concern as it runs: what is not written yet is in effect, and a pending rollback too. */
function readFacts({ store, applier, holds }: DecideParts, decision: ControlDecision): StoredFacts {
  const facts = store.facts(decision);
  const restored = applier.restoring(decision.concernId);
  const concern = restored ?? facts.concern;
  const id = restored?.activeStrategyId;
  return {
    ...facts,
    concern: concern && holds.inEffect(concern),
    active: id == null ? (restored ? undefined : facts.active) : store.strategy(id),
    previous: holds.decision(decision.decisionId) ?? facts.previous,
  };
}

const WRITTEN_LATER = 'and is written as soon as that is possible';

/** Takes a decision that lowers risk into effect; undefined if it does not, else what the answer says of it. */
function takeEffect(
  options: DecideParts,
  { decision }: ScreenedAttempt,
  seen: Seen | undefined,
  write: Unwritten['write'],
): string | undefined {
  const concern = seen?.facts.concern;
  if (seen === undefined || concern === undefined) return undefined;
  const { next, response } = seen.verdict;
  if (next === undefined) {
    const isAlready = response.status === 'noop' && !decision.dryRun && options.holds.isOwed(concern.id);
    return isAlready ? 'it is in effect already, by a decision that is not written yet either' : undefined;
  }
  if (raisesRisk(decision, concern)) return undefined;
  const effect = effectOf(concern, next);
  const isMarked = options.holds.takeEffect(concern.id, {
    restriction: effect,
    write: () => write(effect),
    decision: {
      id: decision.decisionId,
      fingerprint: fingerprintOf(decision),
      response: { ...response, ok: false, status: 'failed' },
    },
  });
  return isMarked
    ? `it is in effect nevertheless, ${WRITTEN_LATER}`
    : `it is in effect nevertheless, ${WRITTEN_LATER}; a restart before that loses it, because it cannot be marked either`;
}

const effectOf = (concern: Concern, next: Concern): Restriction => ({
  ...(next.runState === 'paused' && concern.runState === 'running' && { runState: 'paused' }),
  ...(next.riskMode !== concern.riskMode && { riskMode: next.riskMode }),
});

function visibleConcern(options: DecideParts, caller: Caller, concernId: string): Concern | undefined {
  try {
    const concern = options.store.concern(concernId);
    return concern !== undefined && mayTouch(options.access, caller, concern.accountId) ? concern : undefined;
  } catch {
    // The store cannot be read: the answer reports it as unavailable and omits the concern.
    return undefined;
  }
}
