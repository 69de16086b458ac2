import type { RiskMode } from '@hermes-fleet/protocol/control';

/**
 * Marks that outlast a restart: the concern must start paused, and in this risk mode at most, because its last state could
 * not be saved.
 */
export interface HoldMarks {
  /** The strictest mode that an earlier process marked and that is not taken back; undefined without a mark. */
  found(concernId: string): RiskMode | undefined;
  /** Marks for a holder. False, with a log line, if the mark cannot be made: a restart would not know. */
  mark(concernId: string, holder: string, mode: RiskMode): boolean;
  /** Takes the marks of a holder back. They stay while another holder is left; if that fails, the next call tries again. */
  clear(concernId: string, holder: string): void;
}

/** Marks that are neither kept nor found. */
export const NO_MARKS: HoldMarks = { found: () => undefined, mark: () => true, clear: () => undefined };
