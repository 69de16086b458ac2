import type { RoutingDecision } from '@hermes-fleet/peers';
import type { Attempt, AttemptConsidered, RunContext } from '@hermes-fleet/protocol';
import type { Ended } from './attempt.ts';
import type { Delegation, Refusal } from './state.ts';

/** What the result says of a peer that could not be reached, or would not listen. */
const UNREACHABLE = 'unreachable';
const MAX_CONSIDERED = 20;
const MAX_REASONS = 4;
const MAX_REASON = 200;
/** Attempts that a result can hold; a task that waits for hours drops the oldest that reached nobody. */
const MAX_ATTEMPTS = 100;
/** No task spends more: a figure beyond it is a peer's mistake, and must not spoil the sums. */
const MAX_REPORTED_TOKENS = 1_000_000_000;

/** The explanation of a choice, as much of it as is kept with the attempt (design 2, Routing). */
export function explained({ considered }: RoutingDecision): AttemptConsidered[] {
  return considered.slice(0, MAX_CONSIDERED).map(({ peer, verdict, score, reasons }) => ({
    peer,
    verdict,
    score,
    reasons: reasons.slice(0, MAX_REASONS).map((reason) => reason.slice(0, MAX_REASON)),
  }));
}

/** What is kept of one try at one peer. */
export function attemptOf(
  current: Delegation,
  ended: Ended,
  refusal: Refusal | undefined,
  now: number,
): Attempt {
  const result = ended.kind === 'result' ? ended.result : undefined;
  const failure = ended.kind === 'failed' ? ended.outcome.error : result?.error;
  return {
    peer: current.peer,
    status: result?.status ?? statusOf(ended),
    reason: refusal?.reason ?? failure?.code ?? null,
    tokensSpent: Math.min(result?.tokensSpent ?? 0, MAX_REPORTED_TOKENS),
    startedAt: current.startedAt,
    endedAt: new Date(now).toISOString(),
    ...(current.considered ? { considered: current.considered } : {}),
  };
}

/**
 * The attempts with one more. One that reached nobody takes the place of such a one at the same peer since somebody
 * was last reached, so that a peer that is away for hours does not fill the list.
 */
export function withAttempt(before: readonly Attempt[], next: Attempt): Attempt[] {
  if (next.status !== UNREACHABLE) return bounded([...before, next]);
  const reached = before.findLastIndex(({ status }) => status !== UNREACHABLE);
  const known = before.findIndex(({ peer }, at) => at > reached && peer === next.peer);
  const { startedAt } = before[known] ?? next;
  return known < 0 ? bounded([...before, next]) : before.with(known, { ...next, startedAt });
}

/** How many dispatches were refused by the peer that got them: what `max_attempts` counts. */
export function refusedDispatches(attempts: readonly Attempt[]): number {
  return attempts.filter(({ status }) => status !== UNREACHABLE).length;
}

/** Counts what the peers spent, once: whatever an earlier process has booked of it already is left out. */
export async function bookDelegated(
  budget: RunContext['budget'],
  attempts: readonly Attempt[],
): Promise<void> {
  const reported = attempts.reduce((sum, { tokensSpent }) => sum + tokensSpent, 0);
  const booked = budget.usage().delegatedTokens ?? 0;
  if (reported > booked) await budget.addDelegated(reported - booked);
}

function statusOf(ended: Ended): string {
  if (ended.kind === 'failed') return 'error';
  return ended.kind === 'refused' && ended.declined ? 'refused' : UNREACHABLE;
}

function bounded(attempts: Attempt[]): Attempt[] {
  const excess = attempts.length - MAX_ATTEMPTS;
  if (excess <= 0) return attempts;
  const droppable = attempts.filter(({ status }) => status === UNREACHABLE).slice(0, excess);
  return attempts.filter((each) => !droppable.includes(each));
}
