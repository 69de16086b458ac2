import type { Count, TokenEntry } from '@hermes-fleet/protocol/ports';

/** The tokens that the tasks of a caller spent on a UTC calendar day. Open reservations are not included. */
export interface DaySpending {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly caller: string;
  readonly kind: TokenEntry['kind'];
  /** Input plus output. */
  readonly tokens: number;
  /** Tokens read from and written to a prompt cache. */
  readonly cacheTokens: number;
}

/** Tokens that a task spent: a settled reservation, delegated work, or a reservation that its end closed. */
export interface Booking extends Pick<DaySpending, 'tokens' | 'cacheTokens'> {
  readonly taskId: string;
  /** The day's sum of this caller and kind, this booking included. */
  readonly day: DaySpending;
}

/** Is called after each COMMIT, in order. */
export interface FiguresListener {
  readonly counted?: (counts: readonly Count[]) => void;
  readonly booked?: (booking: Booking) => void;
  /** The task spends no more: after the bookings of its end, or of a peer's work after it; again with its removal. */
  readonly ended?: (taskId: string) => void;
}

/** Sums that are kept with the tasks, and outlive them. They begin with the file. */
export interface Figures {
  totals(): Count[];
  /** The latest day with tokens, `YYYY-MM-DD`; undefined without any. Further ones count for no earlier day. */
  latestDay(): string | undefined;
  spentOn(day: string): DaySpending[];
  /** The tokens that a task has spent, without its open reservations. */
  spentBy(taskId: string): Pick<DaySpending, 'tokens' | 'cacheTokens'>;
  follow(listener: FiguresListener): void;
}
