import type { Concern, Runtime, Strategy } from '@hermes-fleet/paper';
import {
  type Caller,
  type Clock,
  type ControlDecision,
  type ControlResponse,
  controlFingerprint,
  FleetError,
  type Log,
} from '@hermes-fleet/protocol';
import { type Access, mayTouch } from './access.ts';
import type { Activation } from './activation.ts';
import { failedResponse, writeFailure } from './answers.ts';
import type { Applier } from './apply.ts';
import type { Answer } from './attempt.ts';
import { raisesRisk } from './checks.ts';
import type { ConcernLock, Turn } from './concern-lock.ts';
import type { AttemptRecord, ControlStore, OpenApply, StoredFacts, WrittenAttempt } from './control-store.ts';
import type { Facts, Policy } from './facts.ts';
import type { Holds } from './holds.ts';
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
  readonly holds: Holds;
  readonly access: Access;
  readonly policy: Policy;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** Judges a well-formed decision, stores the verdict and applies it (docs/trader.md#state). */
export function createDecide(options: DecideParts): (given: ScreenedAttempt) => Promise<Ruling> {
  return async (given) => {
    const { decision } = given;
    // Before the turn: what is owed needs one of its own. A failure is told by the decision, which then fails too.
    const owed = options.holds.awaitWritten(decision.concernId);
    if (owed !== undefined) await owed.catch(() => undefined);
    return inTurn(options, given, async (turn) => {
      if (options.holds.isOwed(decision.concernId)) return writeFailed(options, given, OWED);
      const written = await decideInTurn(options, given, turn);
      return 'error' in written ? writeFailed(options, given, written.error, written.seen) : written;
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

interface Seen {
  readonly facts: Facts;
  readonly verdict: Verdict;
}

async function decideInTurn(
  options: DecideParts,
  given: ScreenedAttempt,
  turn: Turn,
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

/** A dry run asks what the decision itself would get, so it has its fingerprint. */
const fingerprintOf = (decision: ControlDecision): string =>
  controlFingerprint({ ...decision, dryRun: false });

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

/**
 * The failed answer to a decision that could not be written. The previous state stays in effect, but for a decision that
 * lowers risk: that one takes effect in memory, and is written as soon as the store takes it.
 */
function writeFailed(options: DecideParts, given: ScreenedAttempt, error: unknown, seen?: Seen): Ruling {
  const { caller, decision } = given;
  options.log.error({ err: error, decision_id: decision.decisionId }, 'a decision could not be written');
  const failure = writeFailure(error);
  const held =
    failure.code === 'store_unavailable'
      ? hold(options, given, seen ?? judgeUnwritten(options, given))
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
  return { ...answer(response), isAudited: false };
}

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

/** The stored facts, with the concern as it runs while a rollback is not written. */
function readFacts({ store, applier }: DecideParts, decision: ControlDecision): StoredFacts {
  const facts = store.facts(decision);
  const concern = applier.restoring(decision.concernId);
  if (concern === undefined) return facts;
  const { activeStrategyId: id } = concern;
  return { ...facts, concern, active: id === null ? undefined : store.strategy(id) };
}

const IN_EFFECT = 'it is in effect nevertheless, and is written as soon as that is possible';

/** Takes a decision that lowers risk into effect; undefined if it does not, else what the answer says of it. */
function hold(options: DecideParts, given: ScreenedAttempt, seen: Seen | undefined): string | undefined {
  const concern = seen?.facts.concern;
  const next = seen?.verdict.next;
  if (concern === undefined || next === undefined || raisesRisk(given.decision, concern)) return undefined;
  const isMarked = options.holds.take(concern, next, () => writeOwed(options, given));
  return isMarked
    ? IN_EFFECT
    : `${IN_EFFECT}; a restart before that loses it, because it cannot be marked either`;
}

/** Writes a decision that is in effect already. It is judged as of its arrival, and not by what happened since. */
async function writeOwed(options: DecideParts, given: ScreenedAttempt): Promise<void> {
  const { receivedAt } = given.record;
  const asOfThen: DecideParts = {
    ...options,
    clock: { now: () => receivedAt },
    policy: { ...options.policy, strictDegraded: false },
  };
  const ruling = await inTurn(options, given, async (turn) => {
    const written = await decideInTurn(asOfThen, given, turn);
    if ('error' in written) throw written.error;
    return written;
  });
  if (!ruling.isAudited)
    throw new FleetError('STORE_UNAVAILABLE', 'the decision waits for others of its concern');
  const { status } = ruling.response;
  if (status === 'rejected' || status === 'failed')
    throw new FleetError('INTERNAL', `a decision that is in effect was ${status} when it was written`);
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
