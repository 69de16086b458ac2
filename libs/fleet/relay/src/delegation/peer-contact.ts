import { connectionFault, peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs, type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import type { DelegateOptions } from './delegate-options.ts';

const RETRY_BACKOFF = { firstMs: 200, longestMs: 5_000 };

/** Tracks how long a peer has been unreachable, across all calls of one delegation. */
export interface PeerContact {
  /** Records that the peer answered. */
  recordAnswer(): void;
  /** The time until which the peer is tried, if it does not answer, ms since the epoch. */
  giveUpAt(): number;
  /** Waits before the next try. Throws PEER_UNREACHABLE when the peer has been unreachable too long. */
  waitToRetry(error: FleetError): Promise<void>;
}

export function createPeerContact(
  options: Pick<
    DelegateOptions,
    'endpoint' | 'health' | 'clock' | 'log' | 'random' | 'signal' | 'peerDownAfterMs'
  >,
): PeerContact {
  const { endpoint, health, clock, log, random, signal, peerDownAfterMs } = options;
  let failures = 0;
  let lastAnswerAt = clock.monotonic();
  return {
    recordAnswer() {
      failures = 0;
      lastAnswerAt = clock.monotonic();
      health.recordAnswer();
    },
    giveUpAt: () => clock.now() + Math.floor(lastAnswerAt + peerDownAfterMs - clock.monotonic()),
    async waitToRetry(error) {
      failures += 1;
      health.recordFailure();
      const downMs = clock.monotonic() - lastAnswerAt;
      if (downMs >= peerDownAfterMs) {
        const message = `peer ${endpoint.name} has not answered for ${Math.round(downMs / 1000)} s: dispatch the task again later`;
        throw new FleetError('PEER_UNREACHABLE', message, { cause: error });
      }
      if (failures === 1) log.warn({ peer: endpoint.name, err: error }, 'peer does not answer: trying again');
      await clock.sleep(backoffMs(failures, { ...RETRY_BACKOFF, random }), signal);
    },
  };
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
