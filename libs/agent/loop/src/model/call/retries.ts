import { backoffMs } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Patience } from './agent-model.ts';
import type { CallFailure } from './call-failure.ts';

/** An attempt that failed and is repeated, for logs and progress events. Contains no text of the provider. */
export interface ModelRetry {
  readonly attempt: number;
  readonly reason: 'refused' | 'unreachable' | 'broken' | 'silent';
  readonly status: number | undefined;
  readonly waitMs: number;
  /** True when text of the attempt was passed on: it is void. */
  readonly isTextVoid: boolean;
}

interface RetryLimits {
  readonly patience: Patience;
  /** In ms since the epoch: an attempt that could begin only later is not waited for. */
  readonly deadlineAt: number | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  /** True while the task has spent nothing: another worker may do it. */
  readonly isNewTask: () => boolean;
}

const BACKOFF = { firstMs: 1_000, longestMs: 30_000 };
/** Calls that were told to wait for the same time do not return together. */
const RETRY_AFTER_JITTER = 0.1;

/** The attempts of one call: which failure is worth another one, and when (docs/agent.md#calls-that-fail). */
export function createRetries({ patience, deadlineAt, clock, random, isNewTask }: RetryLimits) {
  let attempts = 0;
  let broken = 0;
  let failingSince: number | undefined;

  function mayRepeat({ kind, status = 500 }: CallFailure, waitMs: number): boolean {
    if (deadlineAt !== undefined && clock.now() + waitMs >= deadlineAt) return false;
    if (kind === 'broken' || kind === 'silent') return broken <= patience.brokenAnswers;
    const { patienceMs, newTaskPatienceMs } = patience;
    const limitMs = status >= 500 && isNewTask() ? Math.min(newTaskPatienceMs, patienceMs) : patienceMs;
    return clock.monotonic() + waitMs - (failingSince ?? 0) <= limitMs;
  }

  return {
    get attempts(): number {
      return attempts;
    },
    /** Decides about the next attempt; undefined when the call is given up. */
    next(failure: CallFailure): Omit<ModelRetry, 'isTextVoid'> | undefined {
      const { kind, status, retryAfterMs } = failure;
      attempts += 1;
      if (kind === 'final') return undefined;
      if (kind === 'broken' || kind === 'silent') broken += 1;
      failingSince ??= clock.monotonic();
      const backoff = backoffMs(attempts, { ...BACKOFF, random });
      // A provider that asks for no delay is not called in a busy loop.
      const asked = (retryAfterMs ?? 0) * (1 + RETRY_AFTER_JITTER * random());
      const waitMs = Math.round(Math.max(asked, backoff));
      return mayRepeat(failure, waitMs) ? { attempt: attempts, reason: kind, status, waitMs } : undefined;
    },
  };
}
