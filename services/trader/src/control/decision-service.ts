import type { JsonObject } from '@hermes-fleet/protocol';
import type { ControlCode, ControlResponse } from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';
import type { Answer, Attempt } from './attempt.ts';

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
