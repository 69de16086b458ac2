import { FleetError, fieldErrors } from '@hermes-fleet/protocol';
import { z } from 'zod';

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

const reader =
  <S extends z.ZodType>(schema: S) =>
  (query: unknown): z.output<S> => {
    const parsed = schema.safeParse(query);
    if (parsed.success) return parsed.data;
    const fields = fieldErrors(parsed.error);
    const list = fields.map(({ path, reason }) => `${path || '(query)'}: ${reason}`).join('; ');
    throw new FleetError('INVALID_PARAMS', `the query is not valid: ${list}`, { fields });
  };

/** The query of `/books/orders` and `/books/fills`. Throws INVALID_PARAMS that names every wrong parameter. */
export const readOrdersQuery = reader(Orders);

/** The query of `/books/performance`. Throws as `readOrdersQuery`. */
export const readPerformanceQuery = reader(Performance);
