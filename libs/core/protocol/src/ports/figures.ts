/** The counters that a ledger keeps, so that they continue after a restart (docs/metrics.md#after-a-restart). */
export type LedgerCounter =
  /** Labels: tier, status. */
  | 'tasks'
  /** Labels: decision, reason. */
  | 'admissions'
  /** Label: kind. */
  | 'peer_refusals'
  | 'tokens_saved'
  /** Labels: caller, tier, type. */
  | 'tokens_spent'
  | 'tokens_cached';

/** An increment of a counter, or the sum of all its increments. */
export interface Count {
  readonly counter: LedgerCounter;
  /** The values of the labels, in the order of LedgerCounter. */
  readonly labels: readonly string[];
  readonly by: number;
}
