import { z } from 'zod';
import { parseInput } from '../control/parse-input.ts';

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const count = (highest: number, otherwise: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= 1 && n <= highest, `must be from 1 to ${highest}`)
    .default(otherwise);
const id = z.string().min(1).max(256);

const COMMON = {
  concern_id: id.optional(),
  from: time.optional(),
  to: time.optional(),
  format: z.enum(['json', 'csv']).default('json'),
};

const Orders = z
  .strictObject({
    ...COMMON,
    strategy_id: id.optional(),
    decision_id: id.optional(),
    order: z.enum(['newest', 'oldest']).default('newest'),
    after: z
      .string()
      .regex(/^\d{1,15}$/, 'must be the `next` of the page before')
      .transform(Number)
      .optional(),
    limit: count(1_000, 100),
  })
  .transform(({ strategy_id: strategyId, decision_id: decisionId, ...rest }) => ({
    ...rest,
    strategyId,
    decisionId,
  }));

const Performance = z.strictObject({ ...COMMON, points: count(1_000, 300) });

/** The query of `/books/orders` and `/books/fills`. Throws INVALID_PARAMS that names every wrong parameter. */
export const readOrdersQuery = (query: unknown) => parseInput(Orders, query, 'the query is');

/** The query of `/books/performance`. Throws as `readOrdersQuery`. */
export const readPerformanceQuery = (query: unknown) => parseInput(Performance, query, 'the query is');
