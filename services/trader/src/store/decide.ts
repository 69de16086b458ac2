import { type Concern, type Restriction, restrict } from '@hermes-fleet/market';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type {
  AccountReset,
  AttemptRecord,
  DecisionKey,
  FactsKey,
  Judgment,
  OpenApply,
  Refusals,
  StoredFacts,
  WrittenAttempt,
} from '../control/control-store.ts';
import type { Verdict } from '../control/judge.ts';
import { canonical } from './canonical.ts';
import { controlEvent } from './control-event.ts';
import type { ControlTransaction, UntimedRecord } from './control-transaction.ts';
import { responseRecord, resultRecord } from './response-record.ts';
import { changeRecord } from './rows.ts';
import { closeDecision, decisionIn, putDecision } from './tables.ts';

/** Judges on the committed state and writes the verdict; writes nothing on `busy`. */
export function decide(
  tx: ControlTransaction,
  attempt: AttemptRecord,
  wanted: DecisionKey,
  judge: (facts: StoredFacts) => Judgment,
): WrittenAttempt | 'busy' {
  const facts = factsOf(tx, wanted);
  const verdict = judge(facts);
  if (verdict === 'busy') return 'busy';
  const { response, next, isFirst } = verdict;
  const isSeen = seesConcern(response);
  const answer = responseRecord(response);
  const link = tx.append(attemptRecord(attempt, response, answer, next));
  if (next !== undefined) advance(tx, facts.concern, next);
  if (isFirst)
    putDecision(tx.db, {
      decisionId: wanted.decisionId,
      concernId: isSeen ? wanted.concernId : '',
      fingerprint: wanted.fingerprint,
      caller: attempt.caller,
      answer: canonical(answer),
      decidedAt: tx.now,
      auditSeq: link.seq,
      open: next !== undefined,
      rev: next?.rev,
    });
  if (!isCopy(verdict, wanted, facts)) {
    const { caller, traceparent } = attempt;
    const concern = isSeen ? (next ?? facts.concern) : undefined;
    tx.emit(controlEvent({ response, concern, caller, traceparent, link, at: tx.now }));
  }
  return { verdict, auditSeq: link.seq };
}

/** Records attempts that have no record of their own. */
export function refusals(tx: ControlTransaction, { caller, from, to, counts }: Refusals): void {
  const iso = (ms: number): string => new Date(ms).toISOString();
  tx.append({ kind: 'refusals', caller, counts: { ...counts }, from: iso(from), to: iso(to) });
}

/** Records that an operator resets an account. Throws NOT_FOUND. */
export function reset(tx: ControlTransaction, { caller, concernId, reason, before }: AccountReset): void {
  if (tx.concern(concernId) === undefined)
    throw new FleetError('NOT_FOUND', `there is no concern ${concernId}`);
  tx.append({ before: { ...before }, caller, concern_id: concernId, kind: 'reset', reason });
}

/** Restricts a concern where its state allows more. Throws NOT_FOUND. */
export function holdConcern(
  tx: ControlTransaction,
  concernId: string,
  restriction: Restriction,
  reason: string,
): Concern {
  const concern = tx.concern(concernId);
  if (concern === undefined) throw new FleetError('NOT_FOUND', `there is no concern ${concernId}`);
  const left = restrict(concern, restriction);
  if (concern.runState === left.runState && concern.riskMode === left.riskMode) return concern;
  const held: Concern = { ...left, rev: concern.rev + 1 };
  tx.putConcern(held, true);
  tx.append({ kind: 'hold', change: changeRecord(held), reason });
  return held;
}

export function refuse(tx: ControlTransaction, attempt: AttemptRecord, response: ControlResponse): void {
  const answer = responseRecord(response);
  tx.append(attemptRecord(attempt, response, answer, undefined));
}

/** Records a successful activation unless an outcome is already recorded. */
export function settle(
  tx: ControlTransaction,
  { decisionId, auditSeq }: OpenApply,
  { result }: Pick<ControlResponse, 'result'>,
): void {
  const done = resultRecord(result);
  if (closeDecision(tx.db, decisionId, auditSeq, done))
    tx.append({ kind: 'outcome', of: auditSeq, outcome: 'applied', result: done });
}

/** Rolls back an applied decision. Throws INTERNAL if an outcome is already recorded. */
export function compensate(
  tx: ControlTransaction,
  { decisionId, auditSeq }: OpenApply,
  before: Concern,
  response: ControlResponse,
): Concern {
  const decision = decisionIn(tx.db, decisionId);
  const concern = tx.concern(before.id);
  if (decision?.auditSeq !== auditSeq || !decision.open || concern === undefined)
    throw new FleetError('INTERNAL', `decision ${decisionId} has no open apply to roll back`);
  const restored = { ...before, rev: concern.rev + 1 };
  const answer = responseRecord(response);
  const link = tx.append({
    change: changeRecord(restored),
    kind: 'outcome',
    of: auditSeq,
    outcome: 'compensated',
    response: answer,
  });
  tx.putConcern(restored, true);
  putDecision(tx.db, { ...decision, answer: canonical(answer), open: false });
  tx.emit(controlEvent({ response, concern: restored, caller: decision.caller, link, at: tx.now }));
  return restored;
}

/** The facts of a decision, without its target where it has none. */
export function factsOf(
  tx: Pick<ControlTransaction, 'db' | 'concern' | 'strategy'>,
  { decisionId, concernId, targetStrategyId }: FactsKey,
): StoredFacts {
  const concern = tx.concern(concernId);
  const strategy = (id: string | null | undefined) => (id == null ? undefined : tx.strategy(id));
  return {
    concern,
    target: strategy(targetStrategyId),
    active: strategy(concern?.activeStrategyId),
    previous: decisionIn(tx.db, decisionId),
  };
}

/** False if the concern does not exist for the caller: the decision is then neither listed nor published under it. */
const seesConcern = ({ validation }: ControlResponse): boolean => validation.concernMatch !== false;

function advance(tx: ControlTransaction, concern: Concern | undefined, next: Concern): void {
  if (concern?.id !== next.id || concern.rev + 1 !== next.rev)
    throw new FleetError('INTERNAL', `a verdict on ${next.id} does not follow revision ${concern?.rev}`);
  tx.putConcern(next, true);
}

/** True if the answer repeats that of the first decision with the same id. */
const isCopy = (
  { isFirst, response }: Verdict,
  { fingerprint }: DecisionKey,
  { previous }: StoredFacts,
): boolean => !isFirst && !response.dryRun && previous?.fingerprint === fingerprint;

function attemptRecord(
  attempt: AttemptRecord,
  { status }: ControlResponse,
  answer: JsonObject,
  next: Concern | undefined,
): UntimedRecord {
  const { transport, caller, onBehalfOf, text, traceparent, receivedAt } = attempt;
  return {
    caller,
    ...(next !== undefined && { change: changeRecord(next) }),
    door: transport,
    kind: 'attempt',
    ...(onBehalfOf !== undefined && { on_behalf_of: onBehalfOf }),
    received_at: new Date(receivedAt).toISOString(),
    response: answer,
    status,
    text,
    ...(traceparent !== undefined && { traceparent }),
  };
}
