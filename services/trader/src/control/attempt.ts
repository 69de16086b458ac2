import type { ControlResponse } from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';

/** The transport of an attempt (docs/trader.md#transports); `internal` for the trader's own, of a circuit breaker. */
export type Transport = 'jsonrpc' | 'mcp' | 'a2a' | 'internal';

/** An authenticated attempt at a decision, as received. */
export interface Attempt {
  readonly transport: Transport;
  readonly caller: Caller;
  /** The principal that the caller claims to act for. It is recorded and grants nothing. */
  readonly onBehalfOf?: string;
  /** The payload exactly as received; null if it was not read (too large, or never sent). */
  readonly text: string | null;
  readonly traceparent?: string;
}

/** The answer to an attempt. */
export interface Answer {
  readonly response: ControlResponse;
  /** 200 for a judged attempt, else 403, 413 or 429. Transports without a status ignore it. */
  readonly httpStatus: 200 | 403 | 413 | 429;
  /** Seconds, with 429. */
  readonly retryAfterS?: number;
}
