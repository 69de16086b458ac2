import { connectionFault, type PeerTask, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs, type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import type { FollowOptions } from './delegate-options.ts';

export const RETRY_BACKOFF = { firstMs: 200, longestMs: 5_000 };
export const QUERY_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 45_000;

export type PeerContact = ReturnType<typeof createPeerContact>;

/** Tracks how long a peer has been unreachable, across all calls of one delegation. */
export function createPeerContact(
  options: Pick<
    FollowOptions,
    'endpoint' | 'health' | 'clock' | 'log' | 'random' | 'signal' | 'peerDownAfterMs' | 'onRetry'
  >,
) {
  const { endpoint, health, clock, log, random, signal, peerDownAfterMs } = options;
  let failures = 0;
  let lastAnswerAt = clock.monotonic();

  /** Waits before the next try. Throws PEER_UNREACHABLE when the peer has been unreachable too long. */
  async function waitToRetry(error: FleetError): Promise<void> {
    failures += 1;
    health.recordFailure();
    const downMs = clock.monotonic() - lastAnswerAt;
    if (downMs >= peerDownAfterMs) {
      const message = `peer ${endpoint.name} has not answered for ${Math.round(downMs / 1000)} s: dispatch the task again later`;
      throw new FleetError('PEER_UNREACHABLE', message, { cause: error });
    }
    if (failures === 1) log.warn({ peer: endpoint.name, err: error }, 'peer does not answer: trying again');
    await clock.sleep(backoffMs(failures, { ...RETRY_BACKOFF, random }), signal);
  }

  return {
    /** Records that the peer answered. */
    recordAnswer(): void {
      failures = 0;
      lastAnswerAt = clock.monotonic();
      health.recordAnswer();
    },
    /** The time until which the peer is tried, if it does not answer, ms since the epoch. */
    giveUpAt: (): number => clock.now() + Math.floor(lastAnswerAt + peerDownAfterMs - clock.monotonic()),
    waitToRetry,
    /**
     * Calls the peer until it answers. Throws an error that is not retryable if a later call would fail as this one, a
     * retryable one as `waitToRetry` does, and the signal's reason.
     */
    async untilAnswered<T>(
      reason: Parameters<FollowOptions['onRetry']>[0],
      call: () => Promise<T>,
    ): Promise<T> {
      for (;;) {
        try {
          return await call();
        } catch (thrown) {
          const error = peerError(signal, thrown);
          if (!error.retryable) throw error;
          options.onRetry(reason);
          await waitToRetry(error);
        }
      }
    },
  };
}

/** Reads a task of the peer, as `untilAnswered` calls it. */
export function readTask(
  { client, endpoint, signal, traceparent, onTask }: FollowOptions,
  contact: PeerContact,
  id: string,
): Promise<PeerTask> {
  return contact.untilAnswered('ask', async () => {
    const task = await client.getTask(endpoint, id, { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent });
    contact.recordAnswer();
    await onTask(task);
    return task;
  });
}

/** A task as a stream has shown it. */
export interface Snapshot {
  readonly task: PeerTask | undefined;
  /** The peer offers streams for its tasks. */
  readonly streams: boolean;
}

/** Follows the stream of a task until `isOver`, or until the stream breaks. Its error does not matter: a query follows. */
export async function watchOnce(
  { client, endpoint, signal, traceparent, onTask, log }: FollowOptions,
  contact: PeerContact,
  id: string,
  known: PeerTask | undefined,
  isOver: (task: PeerTask) => boolean,
): Promise<Snapshot> {
  let task = known;
  try {
    const snapshots = client.watch(endpoint, id, { signal, traceparent, idleTimeoutMs: IDLE_TIMEOUT_MS });
    for await (const snapshot of snapshots) {
      contact.recordAnswer();
      task = snapshot;
      await onTask(snapshot);
      if (isOver(snapshot)) return { task, streams: true };
    }
    // Only a peer without a stream for the task closes the stream before the task ends.
    return { task, streams: false };
  } catch (thrown) {
    const error = peerError(signal, thrown);
    log.debug({ peer: endpoint.name, err: error }, 'stream from the peer ended early');
    return { task, streams: error.retryable };
  }
}

/** The error of a failed call. Throws the signal's reason when the signal ended the call. */
export function peerError(signal: AbortSignal, thrown: unknown): FleetError {
  signal.throwIfAborted();
  return FleetError.from(thrown);
}

/** After these errors the peer may have the task nevertheless. */
const UNCERTAIN: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode | undefined>([
  undefined,
  'INTERNAL',
  'REQUEST_TIMEOUT',
  'STORE_UNAVAILABLE',
]);

/** True when the peer answered that it does not accept the message. */
export function isDeclined(error: FleetError): boolean {
  return error.code === 'PEER_REFUSED' && !UNCERTAIN.has(peerErrorCode(error));
}

const NEVER_ARRIVED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** True when a call failed before any byte of it can have reached the peer. */
export function neverArrived(error: unknown): boolean {
  if (connectionFault(error)) return true;
  let cause: unknown = error;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    if ('code' in cause && typeof cause.code === 'string' && NEVER_ARRIVED.has(cause.code)) return true;
    cause = cause.cause;
  }
  return false;
}
