import { type RoutingDecision, reasonInEvent } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { Attempt, AttemptConsidered, Unmet } from '@hermes-fleet/protocol/handshake';
import type { RunContext } from '@hermes-fleet/protocol/ports';
import type { AttemptOutcome } from './attempt.ts';
import type { Delegation } from './delegation/delegation.ts';
import { failedAtOnce } from './refusal.ts';
import type { Refusal } from './relay-state.ts';

/** The status of an attempt at a peer that could not be reached or did not accept the message. */
const UNREACHABLE = 'unreachable';
const MAX_CONSIDERED = 20;
const MAX_REASONS = 4;
const MAX_REASON = 200;
/** Bounds the attempts in a result; a task that waits for hours drops the oldest ones that spent nothing. */
const MAX_ATTEMPTS = 100;
/** Larger figures are a peer's mistake and would make the sums inexact. */
export const MAX_REPORTED_TOKENS = 1_000_000_000;

/** The routing explanation, truncated to what an attempt keeps (docs/handshake.md#routing). */
export function explanationOf({ considered }: RoutingDecision): AttemptConsidered[] {
  return considered.slice(0, MAX_CONSIDERED).map(({ peer, verdict, score, reasons }) => ({
    peer,
    verdict,
    score,
    reasons: reasons.slice(0, MAX_REASONS).map((reason) => reason.slice(0, MAX_REASON)),
  }));
}

export function attemptRecord(
  current: Delegation,
  outcome: AttemptOutcome,
  refusal: Refusal | undefined,
  now: number,
): Attempt {
  const result = outcome.kind === 'result' ? outcome.result : undefined;
  const failure = outcome.kind === 'failed' ? outcome.outcome.error : result?.error;
  return {
    peer: current.peer,
    status: failedAtOnce(outcome) ? 'failed' : (result?.status ?? statusOf(outcome)),
    reason: refusal?.reason ?? failure?.code ?? null,
    tokensSpent: Math.min(result?.tokensSpent ?? 0, MAX_REPORTED_TOKENS),
    startedAt: current.startedAt,
    endedAt: new Date(now).toISOString(),
    // A prose peer serves no results of its tasks.
    ...(current.prose || current.remoteTaskId === undefined ? {} : { peerTaskId: current.remoteTaskId }),
    ...(current.considered ? { considered: current.considered } : {}),
  };
}

/**
 * Adds an attempt. Consecutive unreachable attempts at the same peer become one, so that a peer which is away for hours
 * does not fill the list.
 */
export function withAttempt(before: readonly Attempt[], next: Attempt): Attempt[] {
  if (next.status !== UNREACHABLE) return bounded([...before, next]);
  const reached = before.findLastIndex(({ status }) => status !== UNREACHABLE);
  const known = before.findIndex(({ peer }, at) => at > reached && peer === next.peer);
  const { startedAt } = before[known] ?? next;
  return known < 0 ? bounded([...before, next]) : before.with(known, { ...next, startedAt });
}

/** Books the tokens that peers spent, minus what an earlier process booked already. */
export async function bookDelegated(
  budget: RunContext['budget'],
  attempts: readonly Attempt[],
): Promise<void> {
  const reported = attempts.reduce((sum, { tokensSpent }) => sum + tokensSpent, 0);
  const booked = budget.usage().delegatedTokens ?? 0;
  if (reported > booked) await budget.addDelegated(reported - booked);
}

/** The status of an attempt without a result. */
export function statusOf(outcome: AttemptOutcome): string {
  if (outcome.kind === 'failed') return 'error';
  return outcome.kind === 'refused' && outcome.declined ? 'refused' : UNREACHABLE;
}

function bounded(attempts: Attempt[]): Attempt[] {
  const excess = attempts.length - MAX_ATTEMPTS;
  if (excess <= 0) return attempts;
  const droppable = attempts.filter(({ tokensSpent }) => tokensSpent === 0).slice(0, excess);
  return attempts.filter((each) => !droppable.includes(each));
}

const MAX_WORDS = 100;

/** The explanation for the event of the choice (docs/events.md#the-events), which has no words of a caller or a peer. */
export function explanationInEvent(considered: readonly AttemptConsidered[]): JsonObject[] {
  return considered.map(({ peer, verdict, score, reasons }) => ({
    peer,
    verdict,
    score,
    reasons: reasons.map((reason) => reasonInEvent(reason).slice(0, MAX_WORDS)),
  }));
}

/** What became of an attempt that leaves the task without a result, for its event (docs/events.md#the-events). */
export function attemptInEvent(
  { peer }: Delegation,
  attempt: number,
  outcome: AttemptOutcome,
  isFull: boolean,
): JsonObject {
  const result = outcome.kind === 'result' ? outcome.result : undefined;
  const failed = failedAtOnce(outcome);
  const ended = failed ? 'failed' : result ? 'refused' : statusOf(outcome);
  const spent = Math.min(result?.tokensSpent ?? 0, MAX_REPORTED_TOKENS);
  return {
    peer,
    attempt,
    outcome: isFull ? 'full' : ended,
    unmet: unmetKinds(result?.unmet ?? []),
    ...(failed && result?.error ? { error: result.error.code.slice(0, MAX_WORDS) } : {}),
    ...(spent > 0 ? { tokens_spent: spent } : {}),
  };
}

/** The distinct kinds, in order. */
export function unmetKinds(unmet: readonly Unmet[]): Unmet['kind'][] {
  return [...new Set(unmet.map(({ kind }) => kind))];
}
