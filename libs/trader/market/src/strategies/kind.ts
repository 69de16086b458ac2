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
      const fields = parsed.error.issues.flatMap(wrongFields);
      const list = fields.map(({ path, reason }) => `${path}: ${reason}`).join('; ');
      throw new FleetError('CONFIG_INVALID', `wrong parameters: ${list}`, { fields });
    },
  };
}

function wrongFields(issue: z.core.$ZodIssue): FieldError[] {
  const path = ['params', ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: fieldPath([...path, key]),
      reason: 'there is no such parameter',
    }));
  return [{ path: fieldPath(path), reason: issue.message }];
}
