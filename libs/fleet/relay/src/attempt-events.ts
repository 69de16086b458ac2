import { reasonInEvent } from '@hermes-fleet/peers';
import type { JsonObject } from '@hermes-fleet/protocol';
import type { AttemptConsidered } from '@hermes-fleet/protocol/handshake';
import type { AttemptOutcome } from './attempt.ts';
import { MAX_REPORTED_TOKENS, statusOf } from './attempt-history.ts';
import { unmetKinds } from './blocked-outcome.ts';
import type { Delegation } from './delegation/delegation.ts';
import { failedAtOnce } from './refusal.ts';

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
