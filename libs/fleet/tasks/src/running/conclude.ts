import type { Ledger } from '@hermes-fleet/ledger';
import { FleetError } from '@hermes-fleet/protocol';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import type { Settled } from './abort.ts';
import { openQuestion } from './ask-caller.ts';
import { errorOutcome } from './task-result.ts';

/**
 * Derives the outcome from the executor's result and the reason of an abort; undefined = left to the next start.
 * `onUnexpected` is called with an error that is not the abort's.
 */
export function conclude(
  settled: Settled,
  reason: FleetError | undefined,
  onUnexpected: (error: unknown) => void,
): RunOutcome | undefined {
  const outcome = 'outcome' in settled ? settled.outcome : undefined;
  if (outcome?.status === 'done') return outcome;
  if ('thrown' in settled && (reason === undefined || settled.thrown !== reason))
    onUnexpected(settled.thrown);
  switch (reason?.code) {
    case 'SHUTTING_DOWN':
      return undefined;
    case 'CANCELED':
      return endedBy('canceled', 'the task was canceled by its caller', false, outcome);
    case 'DEADLINE_EXCEEDED':
      // Blocked: the task only waited, and no work began.
      if (outcome?.status === 'partial' || outcome?.status === 'blocked') return outcome;
      return endedBy('deadline_exceeded', 'the deadline passed while the task was running', false, outcome);
    default:
  }
  if (outcome) return outcome;
  const error = FleetError.from('thrown' in settled ? settled.thrown : undefined);
  return errorOutcome(error.code, error.message, error.retryable);
}

/** A task that expires with an open question is partial: an answer to the question remains to be given. */
export function withOpenQuestion(
  outcome: RunOutcome,
  reason: FleetError | undefined,
  ledger: Pick<Ledger, 'questions'>,
  taskId: string,
): RunOutcome {
  if (outcome.status === 'done' || reason?.code !== 'DEADLINE_EXCEEDED') return outcome;
  const open = openQuestion(ledger, taskId);
  if (!open) return outcome;
  const { error: _error, unmet: _unmet, ...shown } = outcome;
  const asked = `an answer to what was asked, in the brief of a new task (${reason.message}): ${open.text}`;
  const remaining = (outcome.remaining ?? []).filter((each) => !each.includes(open.text));
  return { ...shown, status: 'partial', blockedReason: null, remaining: [asked, ...remaining] };
}

/** An error outcome that keeps the artifacts of the executor. */
function endedBy(
  code: string,
  message: string,
  retryable: boolean,
  shown: RunOutcome | undefined,
): RunOutcome {
  return {
    ...shown,
    ...errorOutcome(code, message, retryable),
    ...(shown && { artifacts: shown.artifacts }),
  };
}
