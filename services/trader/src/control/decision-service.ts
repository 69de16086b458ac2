import type { Caller, ControlCode, ControlResponse, JsonObject } from '@hermes-fleet/protocol';
import type { Answer, Attempt } from './attempt.ts';

/** The one room behind the three doors (design 4, Three doors). */
export interface DecisionService {
  /**
   * Decides an authenticated attempt: scope, account, rate, schema, judgement, apply. Every attempt is in the audit when
   * it resolves; the answer to one that could not be audited is `failed` and says so. Never throws.
   */
  decide(attempt: Attempt): Promise<Answer>;
  /** Audits an attempt that a door could not hand over (too large, no JSON), and gives the answer to it. */
  refuse(attempt: Attempt, code: ControlCode, message: string): Promise<Answer>;
  /** Audits a copy of a message whose door knows already what came of `first`, and gives the answer to it. */
  copied(attempt: Attempt, first: ControlResponse): Promise<Answer>;
  /** `list_strategies(filter)` for this caller's accounts. Throws FORBIDDEN, INVALID_PARAMS. */
  list(caller: Caller, filterText: string): JsonObject;
  /** `get_strategy({strategy_id})`. Throws FORBIDDEN, INVALID_PARAMS. */
  get(caller: Caller, filterText: string): JsonObject;
}
