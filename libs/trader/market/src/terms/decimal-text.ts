import { z } from 'zod';
import { money } from './money.ts';

const PATTERN = /^\d{1,15}(\.\d{1,12})?$/;

/** The schema of a quoted decimal within bounds. The value stays text and never becomes a float. */
export function decimalText(bounds: {
  readonly above?: string;
  readonly atLeast?: string;
  readonly atMost?: string;
}) {
  const { above, atLeast, atMost } = bounds;
  const words = [
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(atLeast === undefined ? [] : [`at least ${atLeast}`]),
    ...(atMost === undefined ? [] : [`at most ${atMost}`]),
  ];
  const error = `must be a decimal in quotes, such as "0.25", ${words.join(' and ')}`;
  const schema = z.string({ error }).meta({ title: `decimal ${words.join(' and ')}` });
  return schema.refine(
    (text) => {
      if (!PATTERN.test(text)) return false;
      const value = money(text);
      return (
        (above === undefined || value.gt(above)) &&
        (atLeast === undefined || value.gte(atLeast)) &&
        (atMost === undefined || value.lte(atMost))
      );
    },
    { error, abort: true },
  );
}

/** A decimal of a stored state, with all its digits. */
export const storedDecimal = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform((value) => money(value));
