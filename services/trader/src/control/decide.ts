import type { Restriction } from '@hermes-fleet/market';
import { FleetError } from '@hermes-fleet/protocol';
import type { ControlDecision, ControlResponse } from '@hermes-fleet/protocol/control';
import type { Turn } from './concern-lock.ts';
import type { OpenApply, WrittenAttempt } from './control-store.ts';
import {
  type DecideParts,
  factsOf,
  fingerprintOf,
  type Ruling,
  type ScreenedAttempt,
  type Seen,
} from './decide-parts.ts';
import type { Answer } from './decision-service.ts';
import { failUnwritten } from './fail-unwritten.ts';
import { judge, type Verdict } from './judge.ts';
import { summaryOf } from './response-draft.ts';
import { isRealPause, refusal } from './screening.ts';

/** Judges a well-formed decision, stores the verdict and applies it (docs/trader.md#state). */
export function createDecide(options: DecideParts): (given: ScreenedAttempt) => Promise<Ruling> {
  return async (given) => {
    const { decision } = given;
    // Before the turn: what is owed needs one of its own. A failure is told by the decision, which then fails too.
    const owed = options.holds.awaitWritten(decision.concernId);
    if (owed !== undefined) await owed.catch(() => undefined);
    const write = writerOf(options, given);
    return inTurn(options, given, async (turn) => {
      const assertFree = (): void => {
        if (options.holds.isOwed(decision.concernId)) throw OWED;
      };
      const written = await decideInTurn(options, given, turn, assertFree);
      return 'error' in written ? failUnwritten(options, given, { ...written, write }) : written;
    });
  };
}

const OWED = new FleetError(
  'STORE_UNAVAILABLE',
  'an earlier decision is in effect and could not be written yet; try again later',
  { retryAfterS: 5 },
);

async function inTurn(
  options: DecideParts,
  { decision }: ScreenedAttempt,
  work: (turn: Turn) => Promise<Ruling>,
): Promise<Ruling> {
  const entered = options.concernLock.enter(decision.concernId, isRealPause(decision));
  const turn = entered instanceof Promise ? await entered : entered;
  if (turn === undefined) return overloaded(decision);
  try {
    return await work(turn);
  } finally {
    turn.release();
  }
}

async function decideInTurn(
  options: DecideParts,
  given: ScreenedAttempt,
  turn: Turn,
  /** Called in the transaction. Throws if the decision must not be made now. */
  assertFree: () => void,
): Promise<Ruling | { readonly error: unknown; readonly seen: Seen | undefined }> {
  const { decision, record } = given;
  const { decisionId, concernId, targetStrategyId } = decision;
  const fingerprint = fingerprintOf(decision);
  const wanted = { decisionId, concernId, targetStrategyId, fingerprint };
  for (;;) {
    let seen: Seen | undefined;
    let written: WrittenAttempt | 'busy' | undefined;
    try {
      const rollback = options.applier.awaitRollback(concernId);
      if (rollback !== undefined) await rollback;
      written = await options.store.decide(record, wanted, (stored) => {
        if (turn.isBusy()) return 'busy';
        assertFree();
        const facts = factsOf(options, given, stored);
        const verdict = judge(decision, fingerprint, facts);
        seen = { facts, verdict };
        if (verdict.next !== undefined) turn.holdConcern();
        return verdict;
      });
    } catch (error) {
      written = findWritten(options, decisionId, seen?.verdict);
      if (written === undefined) return { error, seen };
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

/**
 * Writes a decision that is in effect already. It is judged once, as of its arrival, and not by what happened since. If it is
 * rejected or fails nevertheless, its effect is written as a hold, so that nothing takes it back but a decision.
 */
function writerOf(options: DecideParts, given: ScreenedAttempt): (effect: Restriction) => Promise<void> {
  const { decisionId, concernId } = given.decision;
  const { receivedAt } = given.record;
  const asOfThen: DecideParts = {
    ...options,
    clock: { now: () => receivedAt },
    policy: { ...options.policy, strictDegraded: false },
  };
  const judgeOnce = async (): Promise<ControlResponse> => {
    const { response, isAudited } = await inTurn(options, given, async (turn) => {
      const written = await decideInTurn(asOfThen, given, turn, () => undefined);
      if ('error' in written) throw written.error;
      return written;
    });
    if (isAudited) return response;
    throw new FleetError('STORE_UNAVAILABLE', 'the decision waits for others of its concern');
  };
  let response: ControlResponse | undefined;
  return async (effect) => {
    response ??= await judgeOnce();
    const { status, errors } = response;
    if (status === 'applied') return;
    // It was written although the store had reported a failure.
    if (status === 'noop') return options.applier.finish(concernId, decisionId);
    const why = `${status}: ${errors.map(({ code }) => code).join(', ')}`;
    await options.store.holdConcern(concernId, effect, `decision ${decisionId} was in effect, and ${why}`);
    options.log.error(
      { decision_id: decisionId, status },
      `a decision that is in effect was ${why}; a hold keeps it`,
    );
  };
}
