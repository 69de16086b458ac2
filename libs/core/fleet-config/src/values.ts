import { z } from 'zod';
import { PEER_NAME, RESERVED_NAMES } from './name-pattern.ts';

/** Reports what a function says about a text. */
export const reportProblem =
  (problemOf: (text: string) => string | undefined) =>
  (text: string, ctx: z.core.$RefinementCtx): void => {
    const message = problemOf(text);
    if (message !== undefined) ctx.addIssue({ code: 'custom', message });
  };

export const name = z
  .string()
  .regex(PEER_NAME, 'must be a name of letters, digits, ".", "_" or "-"')
  .refine((text) => !RESERVED_NAMES.has(text), 'is reserved by the handshake: choose another name');
export const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not the token itself');
export const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' });

/** A whole number. For a fraction, z.int() would make zod skip the checks that span several keys. */
export const int = (params?: z.core.TypeParams<z.ZodNumber>) =>
  z
    .number(params)
    .superRefine((input, ctx) => {
      if (!Number.isSafeInteger(input)) ctx.addIssue({ code: 'invalid_type', expected: 'int', input });
    })
    .meta({ type: 'integer' });
export const whole = (least: number, most: number) => int().min(least).max(most);
export const positive = int().positive();
export const seconds = z.number().positive();
export const secondsWithin = (least: number, most: number) => z.number().min(least).max(most);
export const text = z.string().min(1);
export const path = text.max(4_096);
