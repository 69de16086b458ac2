import { peerErrorCode } from '@hermes-fleet/a2a';
import { backoffMs, type ErrorCode, FleetError } from '@hermes-fleet/protocol';
import type { DelegateOptions } from './delegate-options.ts';

const PAUSE = { firstMs: 200, longestMs: 5_000 };

/** Whether a peer answers, through all the calls of one delegation. */
export interface Link {
  /** The peer answered. */
  contact(): void;
  /** It did not: waits before the next try, or throws PEER_UNREACHABLE when it has been away too long. */
  lost(error: FleetError): Promise<void>;
}

export function createLink(
  o: Pick<
    DelegateOptions,
    'endpoint' | 'behaviour' | 'clock' | 'log' | 'random' | 'signal' | 'peerDownAfterMs'
  >,
): Link {
  let failures = 0;
  let lastContact = o.clock.now();
  return {
    contact() {
      failures = 0;
      lastContact = o.clock.now();
      o.behaviour.recordAnswer();
    },
    async lost(error) {
      failures += 1;
      o.behaviour.recordFailure();
      const awayMs = o.clock.now() - lastContact;
      if (awayMs >= o.peerDownAfterMs) {
        const message = `peer ${o.endpoint.name} has not answered for ${Math.round(awayMs / 1000)} s: dispatch the task again later`;
        throw new FleetError('PEER_UNREACHABLE', message, { cause: error });
      }
      if (failures === 1)
        o.log.warn({ peer: o.endpoint.name, err: error }, 'peer does not answer: trying again');
      await o.clock.sleep(backoffMs(failures, { ...PAUSE, random: o.random }), o.signal);
    },
  };
}

/** The error of a call; throws the signal's reason when that is why it failed. */
export function peerError(signal: AbortSignal, thrown: unknown): FleetError {
  signal.throwIfAborted();
  return FleetError.from(thrown);
}

/** Answers after which the peer may have the task all the same. */
const UNCERTAIN: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode | undefined>([
  undefined,
  'INTERNAL',
  'REQUEST_TIMEOUT',
  'STORE_UNAVAILABLE',
]);

/** Whether the peer said for certain that it did not take the task. */
export function declined(error: FleetError): boolean {
  return error.code === 'PEER_REFUSED' && !UNCERTAIN.has(peerErrorCode(error));
}

const NEVER_ARRIVED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Whether a call failed before a byte of it can have reached the peer. */
export function neverArrived(error: unknown): boolean {
  let cause: unknown = error;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    if ('code' in cause && typeof cause.code === 'string' && NEVER_ARRIVED.has(cause.code)) return true;
    cause = cause.cause;
  }
  return false;
}
