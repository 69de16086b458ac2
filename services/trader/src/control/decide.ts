import type { Concern, Runtime, Strategy } from '@hermes-fleet/paper';
import {
  type Caller,
  type Clock,
  type ControlDecision,
  type ControlResponse,
  controlFingerprint,
  type Log,
} from '@hermes-fleet/protocol';
import { type Access, mayTouch } from './access.ts';
import type { Activation } from './activation.ts';
import { failedResponse, writeFailure } from './answers.ts';
import type { Applier } from './apply.ts';
import type { Answer } from './attempt.ts';
import type { ConcernLock, Turn } from './concern-lock.ts';
import type { AttemptRecord, ControlStore, OpenApply, StoredFacts, WrittenAttempt } from './control-store.ts';
import type { Facts, Policy } from './facts.ts';
import { judge, type Verdict } from './judge.ts';
import { createDraft, summaryOf } from './response-draft.ts';
import { isRealPause, refusal } from './screening.ts';

/** A well-formed decision that passed the screening. */
export interface ScreenedAttempt {
  readonly caller: Caller;
  readonly record: AttemptRecord;
  readonly decision: ControlDecision;
}

/** An answer; `isAudited` if the store has audited the attempt. */
export type Ruling = Answer & { readonly isAudited: boolean };

export interface DecideParts {
  readonly store: ControlStore;
  readonly runtime: Pick<Runtime, 'health' | 'preflight'>;
  readonly activation: Activation;
  readonly applier: Applier;
  readonly concernLock: ConcernLock;
  readonly access: Access;
  readonly policy: Policy;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** Judges a well-formed decision, stores the verdict and applies it (docs/trader.md#state). */
export function createDecide(options: DecideParts): (given: ScreenedAttempt) => Promise<Ruling> {
  return async (given) => {
    const { decision } = given;
    const entered = options.concernLock.enter(decision.concernId, isRealPause(decision));
    const turn = entered instanceof Promise ? await entered : entered;
    if (turn === undefined) return overloaded(decision);
    try {
      return await decideInTurn(options, given, turn);
    } finally {
      turn.release();
    }
  };
}

async function decideInTurn(options: DecideParts, given: ScreenedAttempt, turn: Turn): Promise<Ruling> {
  const { decision, record } = given;
  const { decisionId, concernId, targetStrategyId } = decision;
  // A dry run asks what the decision itself would get, so it has its fingerprint.
  const fingerprint = controlFingerprint({ ...decision, dryRun: false });
  const wanted = { decisionId, concernId, targetStrategyId, fingerprint };
  for (;;) {
    let seen: { readonly facts: Facts; readonly verdict: Verdict } | undefined;
    let written: WrittenAttempt | 'busy' | undefined;
    try {
      const rollback = options.applier.awaitRollback(concernId);
      if (rollback !== undefined) await rollback;
      written = await options.store.decide(record, wanted, (stored) => {
        if (turn.isBusy()) return 'busy';
        const facts = factsOf(options, given, stored);
        const verdict = judge(decision, fingerprint, facts);
        seen = { facts, verdict };
        if (verdict.next !== undefined) turn.holdConcern();
        return verdict;
      });
    } catch (error) {
      written = findWritten(options, decisionId, seen?.verdict);
      if (written === undefined) return writeFailed(options, given, seen?.verdict, error);
      options.log.warn(
        { err: error, decision_id: decisionId },
        'the store reported a failure, but the decision is on disk',
      );
    }
    if (written === 'busy') {
      if (await turn.waitAgain()) continue;
      return overloaded(decision);
    }
    const { verdict, auditSeq } = written;
    const { response, next } = verdict;
    const before = seen?.facts.concern;
    if (seen === undefined || before === undefined || next === undefined)
      return { ...answer(response), isAudited: true };
    const { active: former, target } = seen.facts;
    const strategy = [former, target].find((each) => each?.id === next.activeStrategyId);
    const open: OpenApply = { decisionId, concernId, auditSeq, response };
    return {
      ...answer(await options.applier.apply(open, { before, previous: former, next, strategy })),
      isAudited: true,
    };
  }
}

const answer = (response: ControlResponse): Answer => ({ response, httpStatus: 200 });

function overloaded(decision: ControlDecision): Ruling {
  const message = 'too many decisions wait for this concern; retry in 5 s';
  const o = { schemaValid: true, retryAfterS: 5 };
  return { ...refusal(summaryOf(decision), [{ code: 'rate_limited', message }], o), isAudited: false };
}

/** The stored facts that the caller may see, with those of the runtime. */
function factsOf(options: DecideParts, { caller, decision }: ScreenedAttempt, stored: StoredFacts): Facts {
  const own = <T extends Concern | Strategy>(each: T | undefined): T | undefined =>
    each !== undefined && mayTouch(options.access, caller, each.accountId) ? each : undefined;
  const concern = own(stored.concern);
  const target = own(stored.target);
  const active = own(stored.active);
  const toRun = { switch: target, resume: active, pause: undefined, set_risk_mode: undefined }[
    decision.action
  ];
  return {
    now: options.clock.now(),
    concern,
    target,
    active,
    previous: stored.previous,
    policy: options.policy,
    degraded:
      concern !== undefined &&
      (options.activation.isOutOfSync(concern.id) || options.runtime.health(concern.id).degraded),
    unrunnable: toRun?.status === 'enabled' ? options.runtime.preflight(toRun) : undefined,
  };
}

/** Finds a change that is on disk although the store reported a failure. */
function findWritten(
  options: DecideParts,
  decisionId: string,
  verdict: Verdict | undefined,
): WrittenAttempt | undefined {
  if (verdict?.next === undefined) return undefined;
  try {
    const open = options.store.openApplies().find((each) => each.decisionId === decisionId);
    return open && { verdict, auditSeq: open.auditSeq };
  } catch (error) {
    options.log.warn({ err: error, decision_id: decisionId }, 'the store cannot be read');
    return undefined;
  }
}

/** The failed answer to a decision that could not be written; the previous state stays in effect. */
function writeFailed(
  options: DecideParts,
  { caller, decision }: ScreenedAttempt,
  verdict: Verdict | undefined,
  error: unknown,
): Ruling {
  options.log.error({ err: error, decision_id: decision.decisionId }, 'a decision could not be written');
  const draft = createDraft(summaryOf(decision));
  draft.validation.schemaValid = true;
  const result = { modeChange: 'none' as const, reconciled: true };
  const unjudged = draft.answer({ status: 'failed', result, before: undefined, after: undefined });
  const before = visibleConcern(options, caller, decision.concernId);
  const response = failedResponse(verdict?.response ?? unjudged, {
    before,
    errors: [writeFailure(error)],
    result,
  });
  return { ...answer(response), isAudited: false };
}

function visibleConcern(options: DecideParts, caller: Caller, concernId: string): Concern | undefined {
  try {
    const concern = options.store.concern(concernId);
    return concern !== undefined && mayTouch(options.access, caller, concern.accountId) ? concern : undefined;
  } catch {
    // The store cannot be read: the answer reports it as unavailable and omits the concern.
    return undefined;
  }
}
