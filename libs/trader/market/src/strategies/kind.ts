import { type FieldError, FleetError, fieldPath, type JsonObject } from '@hermes-fleet/protocol';
import type { z } from 'zod';
import type { TradingStrategy } from '../terms/strategy.ts';

/** A kind of strategy: its parameters and its constructor. */
export interface StrategyKind {
  /** Strict. The output is JSON with the defaults filled in. */
  readonly params: z.ZodType;
  /** Throws CONFIG_INVALID that names every wrong parameter. */
  create(params: JsonObject): TradingStrategy;
}

/** Builds a kind from a schema and a constructor that takes validated parameters. */
export function strategyKind<S extends z.ZodType>(
  params: S,
  create: (params: z.output<S>) => TradingStrategy,
): StrategyKind {
  return {
    params,
    create: (raw) => {
      const parsed = params.safeParse(raw);
      if (parsed.success) return create(parsed.data);
      const fields = wrongFields(parsed.error, 'params', 'there is no such parameter');
      const list = fields.map(({ path, reason }) => `${path}: ${reason}`).join('; ');
      throw new FleetError('CONFIG_INVALID', `wrong parameters: ${list}`, { fields });
    },
  };
}

/** The wrong fields below `root`; `unknown` is the reason for a key that there is not. */
export const wrongFields = (error: z.ZodError, root: string, unknown: string): FieldError[] =>
  error.issues.flatMap((issue) => {
    const path = [root, ...issue.path];
    if (issue.code !== 'unrecognized_keys') return [{ path: fieldPath(path), reason: issue.message }];
    return issue.keys.map((key) => ({ path: fieldPath([...path, key]), reason: unknown }));
  });
