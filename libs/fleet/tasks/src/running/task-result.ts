import { answerVersion, type EndEvent, type JsonObject } from '@hermes-fleet/protocol';
import {
  bareResult,
  encodeResult,
  type TaskResult,
  type Unmet,
  type Usage,
  unmet,
} from '@hermes-fleet/protocol/handshake';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';

/** A task's terminal event and its result. */
export interface Ending {
  readonly event: EndEvent;
  readonly result: TaskResult;
}

/** The ending of a task that never started. No token was spent (docs/handshake.md#task_result). */
export function blockedEnding(taskId: string, found: readonly Unmet[], executedBy: string): Ending {
  return {
    event: 'blocked',
    result: { ...bareResult(taskId), ...blockedOutcome(found), executedBy },
  };
}

/** The outcome of a task that nobody began. `why` is appended to the reasons. */
export function blockedOutcome(found: readonly Unmet[], why?: string): RunOutcome {
  return {
    status: 'blocked',
    nextSteps: [],
    blockedReason: [...found.map(({ detail }) => detail), ...(why === undefined ? [] : [why])].join('; '),
    artifacts: { filesChanged: [] },
    unmet: [...found],
  };
}

/** An error outcome without artifacts. */
export function errorOutcome(code: string, message: string, retryable: boolean): RunOutcome {
  return {
    status: 'error',
    nextSteps: [],
    blockedReason: null,
    artifacts: { filesChanged: [] },
    error: { code: code.toLowerCase(), message, retryable },
  };
}

/** The ending of a task that failed outside a run. */
export function errorEnding(
  taskId: string,
  profile: string,
  error: { code: string; message: string; retryable: boolean },
): Ending {
  const outcome = errorOutcome(error.code, error.message, error.retryable);
  return { event: 'error', result: { ...bareResult(taskId), ...outcome, executedBy: profile } };
}

/**
 * Builds the TASK_RESULT of a run. The tokens spent come from the budget, not from the executor. A blocked outcome becomes
 * an error if tokens were spent, because `blocked` promises that none were.
 */
export function runEnding(
  outcome: RunOutcome,
  run: {
    taskId: string;
    profile: string;
    spent: number;
    usage: Usage;
    durationMs: number;
    canceled: boolean;
  },
): Ending {
  const { spent } = run;
  const settled = spent > 0 ? withoutBlocked(outcome) : blockedByBudget(outcome);
  const bare = bareResult(run.taskId);
  const result: TaskResult = {
    ...bare,
    ...settled,
    // Override whatever the executor returns in these fields.
    type: bare.type,
    protocolVersion: bare.protocolVersion,
    taskId: bare.taskId,
    tokensSpent: spent,
    blockedReason:
      settled.status === 'blocked' ? (settled.blockedReason ?? 'the executor gave no reason') : null,
    executedBy: settled.executedBy ?? run.profile,
    usage: run.usage,
    durationMs: run.durationMs,
  };
  if (settled.status === 'partial') result.remaining ??= [];
  if (settled.status === 'error')
    result.error ??= { code: 'internal', message: 'the executor gave no reason', retryable: false };
  return { event: run.canceled ? 'canceled' : result.status, result };
}

/**
 * Encodes the result in the version of its dispatch (`asked`) if this profile supports it (`spoken`), else in our highest
 * version of that major (docs/handshake.md#versions).
 */
export function encodeEnding({ result }: Ending, asked: string, spoken: readonly string[]): JsonObject {
  return encodeResult({ ...result, protocolVersion: answerVersion(asked, spoken) });
}

function withoutBlocked(outcome: RunOutcome): RunOutcome {
  if (outcome.status !== 'blocked') return outcome;
  const message = outcome.blockedReason ?? 'no executor could continue the task';
  return {
    ...outcome,
    status: 'error',
    blockedReason: null,
    error: { code: 'blocked', message, retryable: true },
  };
}

/** A task whose budget did not pay for its first model call is blocked: nothing was spent, and a larger budget helps. */
function blockedByBudget(outcome: RunOutcome): RunOutcome {
  if (outcome.status !== 'error' || outcome.error?.code !== 'budget_exhausted') return outcome;
  const { error, ...rest } = outcome;
  const found = unmet('budget', 'token_budget', error.message);
  return { ...rest, status: 'blocked', blockedReason: error.message, unmet: found };
}

/** The outcome of a task whose deadline passed before its executor was called. */
export function expiredOutcome(deadline = ''): RunOutcome {
  const detail = `the deadline ${deadline} passed before the task began`;
  return blockedOutcome(unmet('deadline', deadline, detail));
}
