/** The names under which a ledger keeps counters, so that they continue after a restart (docs/metrics.md#after-a-restart). */
export const LEDGER_COUNTERS = {
  tasks: true,
  admissions: true,
  peer_refusals: true,
  tokens_saved: true,
  tokens_spent: true,
  tokens_cached: true,
} as const;
export type LedgerCounter = keyof typeof LEDGER_COUNTERS;

/** An increment of a counter, or the sum of all its increments. */
export interface Count {
  readonly counter: LedgerCounter;
  /** The values of the labels, in the order in which docs/metrics.md has them, without `profile`. */
  readonly labels: readonly string[];
  readonly by: number;
}
