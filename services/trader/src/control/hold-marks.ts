/** The modes of a mark, the strictest last. A concern with a mark starts paused, and in this risk mode if it is one. */
export const MARKED_MODES = ['paused', 'cautious', 'reduce_only', 'halted'] as const;
export type MarkedMode = (typeof MARKED_MODES)[number];

/** The holder of what an earlier process marked. */
export const EARLIER = 'earlier';

/** Marks that outlast a restart: a concern must come up held, because its last state could not be saved. */
export interface HoldMarks {
  /** The strictest mode that an earlier process marked; undefined if it marked none. */
  found(concernId: string): MarkedMode | undefined;
  /** Marks for a holder. False, with a log line, if the mark cannot be made: a restart would not know. */
  mark(concernId: string, holder: string, mode: MarkedMode): boolean;
  /** Takes the marks of a holder back. They stay while another holder is left; if that fails, the next call tries again. */
  clear(concernId: string, holder: string): void;
}
