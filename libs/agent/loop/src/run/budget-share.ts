import { z } from 'zod';

/** What one of several delegations that run at the same time may spend, and has spent. Part of the checkpoint. */
export const BudgetShare = z.object({
  /** Absent without a ceiling. */
  limit: z.number().optional(),
  /** What the task had spent when the share was made. */
  before: z.number(),
  spent: z.number(),
});
export type BudgetShare = z.output<typeof BudgetShare>;
