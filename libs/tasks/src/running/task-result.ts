import {
  answerVersion,
  type Budget,
  bareResult,
  encodeResult,
  type JsonObject,
  type RunOutcome,
  type TaskResult,
  type Unmet,
} from '@hermes-fleet/protocol';

/** How a task ends in the ledger: the event, and the result that goes with it. */
export interface Ending {
  readonly event: 'blocked' | 'done' | 'partial' | 'error' | 'canceled';
  readonly result: TaskResult;
}

/** A result for work that never started: no token was spent (design 2, TASK_RESULT). */
export function blockedEnding(taskId: string, unmet: readonly Unmet[], executedBy?: string): Ending {
  return {
    event: 'blocked',
    result: {
      ...bareResult(taskId),
      status: 'blocked',
      blockedReason: unmet.map(({ detail }) => detail).join('; '),
      unmet: [...unmet],
      ...(executedBy === undefined ? {} : { executedBy }),
    },
  };
}

/** An outcome without anything to show for it but an error. */
export function errorOutcome(code: string, message: string, retryable: boolean): RunOutcome {
  return {
    status: 'error',
    nextSteps: [],
    blockedReason: null,
    artifacts: { filesChanged: [] },
    error: { code: code.toLowerCase(), message, retryable },
  };
}

/**
 * The TASK_RESULT of a run. What was spent is the budget's figure, never the executor's word. A blocked outcome after
 * tokens were spent is an error: blocked promises that none were.
 */
export function runEnding(
  outcome: RunOutcome,
  run: { taskId: string; profile: string; budget: Budget; durationMs: number; canceled: boolean },
): Ending {
  const spent = run.budget.spent();
  const settled = spent > 0 ? withoutBlocked(outcome) : outcome;
  const { type, protocolVersion, taskId, ...rest } = bareResult(run.taskId);
  const result: TaskResult = {
    ...rest,
    ...settled,
    // Whatever else the executor hands back: which task it was is ours to say.
    type,
    protocolVersion,
    taskId,
    tokensSpent: spent,
    blockedReason:
      settled.status === 'blocked' ? (settled.blockedReason ?? 'the executor gave no reason') : null,
    executedBy: settled.executedBy ?? run.profile,
    usage: run.budget.usage(),
    durationMs: run.durationMs,
    ...(settled.status === 'partial' ? { remaining: settled.remaining ?? [] } : {}),
    ...(settled.status === 'error'
      ? {
          error: settled.error ?? {
            code: 'internal',
            message: 'the executor gave no reason',
            retryable: false,
          },
        }
      : {}),
  };
  return { event: run.canceled ? 'canceled' : result.status, result };
}

/** What an event repeats of the words of a caller or a peer: an event that the bus refuses would hold up all others. */
const MAX_WORD = 100;
const MAX_UNMET = 20;
const short = (word: string): string => word.slice(0, MAX_WORD);

/** What a terminal event says on the bus: small facts, never a brief or a model's text. */
export function endingData({ event, result }: Ending): JsonObject {
  return {
    status: event === 'canceled' ? 'canceled' : result.status,
    tokens_spent: result.tokensSpent,
    ...(result.executedBy === undefined ? {} : { executed_by: short(result.executedBy) }),
    ...(result.durationMs === undefined ? {} : { duration_ms: Math.round(result.durationMs) }),
    ...(result.status === 'blocked'
      ? {
          reason: result.unmet?.[0]?.kind ?? 'peer',
          unmet: (result.unmet ?? [])
            .slice(0, MAX_UNMET)
            .map(({ kind, name }) => ({ kind, name: short(name) })),
        }
      : {}),
    ...(result.error ? { error: short(result.error.code), retryable: result.error.retryable } : {}),
    ...(result.attempts ? { attempts: result.attempts.length } : {}),
  };
}

/**
 * The result as the wire has it, in the version of the dispatch that it answers (`asked`) where that is among those
 * `spoken`, else in our highest of that major (design 2, Versions).
 */
export function encodeEnding({ result }: Ending, asked: string, spoken: readonly string[]): JsonObject {
  return encodeResult({ ...result, protocolVersion: answerVersion(asked, spoken) });
}

function withoutBlocked(outcome: RunOutcome): RunOutcome {
  if (outcome.status !== 'blocked') return outcome;
  const message = outcome.blockedReason ?? 'nobody could go on with the task';
  return {
    ...outcome,
    status: 'error',
    blockedReason: null,
    error: { code: 'blocked', message, retryable: true },
  };
}
