import { FleetError, systemCode } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Reachable } from '../running/reachable.ts';
import { MAX_FAILURES, waitAfter } from './follow.ts';

export interface HandOverOptions {
  readonly clock: Clock;
  readonly at: Pick<Reachable, 'name' | 'target'>;
  /** The `task_id` of the dispatch. */
  readonly taskId: string;
}

const MAX_MS = 60_000;
/** Errors of a connection that was never open. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Resolves as `send` does, which sends a message. A profile makes one task of all copies of a dispatch
 * (docs/handshake.md#idempotency), so one whose answer is lost is sent again, for about a minute; another agent gets its
 * message once. Throws PEER_UNREACHABLE, which says whether the task may be running, and what `send` throws else.
 */
export async function handOver<T>(
  { clock, at, taskId }: HandOverOptions,
  send: () => Promise<T>,
): Promise<T> {
  const startedAt = clock.monotonic();
  for (let failures = 0; ; ) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      const isLost = error.code === 'PEER_UNREACHABLE';
      // After a lost answer, a refusal that passes says nothing about the first copy.
      if (!isLost && !(failures > 0 && error.retryable)) throw error;
      if (failures === 0 && wasNotConnected(error)) throw error;
      failures += 1;
      const isLast = failures > MAX_FAILURES || clock.monotonic() - startedAt >= MAX_MS;
      if (at.target === undefined || isLast) throw unknownOutcome(error, at, taskId);
      await clock.sleep(waitAfter(failures));
    }
  }
}

function wasNotConnected(error: FleetError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause)
    if (NOT_CONNECTED.has(systemCode(cause) ?? '')) return true;
  return false;
}

function unknownOutcome(cause: FleetError, at: HandOverOptions['at'], taskId: string): FleetError {
  const next =
    at.target === undefined
      ? ''
      : `; fleet tasks shows it, and the same command with --task-id ${taskId} makes no second task`;
  const message = `${cause.message}: the task may be running at ${at.name} all the same${next}`;
  return new FleetError('PEER_UNREACHABLE', message, { cause });
}
