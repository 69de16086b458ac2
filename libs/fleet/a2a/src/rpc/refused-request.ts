import type { FleetError } from '@hermes-fleet/protocol';
import type { Caller, Log } from '@hermes-fleet/protocol/ports';
import type { FastifyRequest } from 'fastify';

/** A request of an authenticated caller that neither a method nor the intake received. */
export interface RefusedRequest {
  readonly caller: Caller;
  /** The raw body; null when it was not read. */
  readonly text: string | null;
  /** The JSON-RPC method, when the body has one. */
  readonly method?: string;
  readonly error: FleetError;
  /** The W3C trace context of the request. */
  readonly traceparent: string;
}

export type OnRefused = (refused: RefusedRequest) => Promise<void>;

/** Reports a refusal to the service. Never rejects: the caller must get the original error. */
export async function reportRefusal(
  { onRefused, log }: { readonly onRefused?: OnRefused | undefined; readonly log: Log },
  request: FastifyRequest,
  refusal: Pick<RefusedRequest, 'text' | 'method' | 'error'>,
): Promise<void> {
  if (onRefused === undefined) return;
  const { caller, trace } = request;
  try {
    await onRefused({ ...refusal, caller, traceparent: trace.traceparent });
  } catch (error) {
    log.error({ err: error, caller: caller.name, code: refusal.error.code }, 'a refusal was not recorded');
  }
}
