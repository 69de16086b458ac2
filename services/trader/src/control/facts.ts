import type { Concern, Strategy } from '@hermes-fleet/paper';
import type { ControlResponse } from '@hermes-fleet/protocol';

export interface Policy {
  /** How old a request may be, and how far ahead, ms. */
  readonly maxAgeMs: number;
  readonly futureSlackMs: number;
  /** Below it, what raises risk is refused. */
  readonly minConfidence: number;
  /** Whether everything is refused while execution is degraded, also what makes things safer. */
  readonly strictDegraded: boolean;
}

/** All that a judgement rests on. */
export interface Facts {
  /** Ms since the epoch. */
  readonly now: number;
  /** By the request's concern_id. */
  readonly concern: Concern | undefined;
  /** By the request's target_strategy_id, of whatever concern. */
  readonly target: Strategy | undefined;
  /** The strategy that is active in the concern. */
  readonly active: Strategy | undefined;
  readonly degraded: boolean;
  /** Why the strategy that is to run could not (the runtime's preflight); undefined where nothing is in its way. */
  readonly unrunnable?: string | undefined;
  /** The first decision of this id that was judged and was no dry run. */
  readonly previous: { readonly fingerprint: string; readonly response: ControlResponse } | undefined;
  readonly policy: Policy;
}
