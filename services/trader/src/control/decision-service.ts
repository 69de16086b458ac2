import type { JsonObject } from '@hermes-fleet/protocol';
import type { ControlCode, ControlResponse } from '@hermes-fleet/protocol/control';
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

/** The service behind all three transports (docs/trader.md#transports). */
export interface DecisionService {
  /**
   * Checks, judges and applies an authenticated attempt. The attempt is in the audit when it resolves, or counted for it
   * (`createRefusalBound`); an attempt that cannot be audited gets a `failed` answer. Never throws.
   */
  decide(attempt: Attempt): Promise<Answer>;
  /** Audits and answers an attempt that a transport refused (too large, not JSON). */
  refuse(attempt: Attempt, code: ControlCode, message: string): Promise<Answer>;
  /** Audits and answers a copy of a message whose first response the transport already has. */
  copied(attempt: Attempt, first: ControlResponse): Promise<Answer>;
  /** Lists the strategies of the caller's accounts. Throws FORBIDDEN, INVALID_PARAMS. */
  list(caller: Caller, filterText: string): JsonObject;
  /** Returns one strategy in detail. Throws FORBIDDEN, INVALID_PARAMS. */
  get(caller: Caller, filterText: string): JsonObject;
}
