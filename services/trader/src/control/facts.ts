import type { Concern, Strategy } from '@hermes-fleet/market';
import type { ControlResponse } from '@hermes-fleet/protocol/control';

export interface Policy {
  /** Highest age of a request, and how far its time may be in the future, ms. */
  readonly maxAgeMs: number;
  readonly futureSlackMs: number;
  /** Decisions that raise risk are refused below it. */
  readonly minConfidence: number;
  /** Refuses every decision while execution is degraded, even those that lower risk. */
  readonly strictDegraded: boolean;
}

/** The input of a judgment besides the request. */
export interface Facts {
  /** Ms since the epoch. */
  readonly now: number;
  /** The concern with the request's concern_id. */
  readonly concern: Concern | undefined;
  /** The strategy with the request's target_strategy_id, in any concern. */
  readonly target: Strategy | undefined;
  /** The strategy that is active in the concern. */
  readonly active: Strategy | undefined;
  readonly degraded: boolean;
  /** The caller restricts and nothing else: a circuit breaker. */
  readonly onlyRestricts?: boolean;
  /** Why the audit is broken; undefined if it is not. */
  readonly brokenAudit?: string | undefined;
  /** Why the strategy that is to run cannot (the runtime's preflight); undefined if it can. */
  readonly unrunnable?: string | undefined;
  /** The first judged decision with this id that was not a dry run. */
  readonly previous: { readonly fingerprint: string; readonly response: ControlResponse } | undefined;
  readonly policy: Policy;
}
