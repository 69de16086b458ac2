import type { Caller, FleetError, Log } from '@hermes-fleet/protocol';
import type { FastifyRequest } from 'fastify';

/** A request of a known caller that no handler got. */
export interface RefusedRequest {
  readonly caller: Caller;
  /** The body as it arrived; null where it was not read. */
  readonly text: string | null;
  /** The JSON-RPC method; absent where the body does not say one. */
  readonly method?: string;
  readonly error: FleetError;
  /** The W3C trace context of the request. */
  readonly traceparent: string;
}

export type OnRefused = (refused: RefusedRequest) => Promise<void>;

export interface RefusalDeps {
  readonly onRefused?: OnRefused | undefined;
  readonly log: Log;
}

/** Tells the service of a refusal. Never rejects: the caller gets the error that it was refused with. */
export async function reportRefusal(
  { onRefused, log }: RefusalDeps,
  request: FastifyRequest,
  what: Pick<RefusedRequest, 'text' | 'method' | 'error'>,
): Promise<void> {
  if (onRefused === undefined) return;
  const { caller, trace } = request;
  try {
    await onRefused({ ...what, caller, traceparent: trace.traceparent });
  } catch (error) {
    log.error({ err: error, caller: caller.name, code: what.error.code }, 'a refusal was not taken note of');
  }
}
