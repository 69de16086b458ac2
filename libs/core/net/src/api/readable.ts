import type { Answer } from '@hermes-fleet/protocol/api';
import { z } from 'zod';

/** An answer as its reader may rely on it: a newer service may use a word that this release does not know. */
export type Read<R> = Widened<Answer<R>>;

type Widened<T> = T extends string
  ? string
  : T extends readonly (infer E)[]
    ? readonly Widened<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Widened<T[K]> }
      : T;

const known = new WeakMap<z.ZodType, z.ZodType>();

/** A schema that accepts what services of other releases answer: fields and words that `schema` does not have. */
export function readable(schema: z.ZodType): z.ZodType {
  const found = known.get(schema) ?? relaxed(schema);
  known.set(schema, found);
  return found;
}

function relaxed(schema: z.ZodType): z.ZodType {
  const inner = (of: unknown): z.ZodType => readable(of as z.ZodType);
  if (schema instanceof z.ZodObject)
    return z.object(Object.fromEntries(Object.entries(schema.shape).map(([key, of]) => [key, inner(of)])));
  if (schema instanceof z.ZodArray) return z.array(inner(schema.element));
  if (schema instanceof z.ZodRecord) return z.record(z.string(), inner(schema.valueType));
  if (schema instanceof z.ZodOptional) return z.optional(inner(schema.unwrap()));
  if (schema instanceof z.ZodNullable) return z.nullable(inner(schema.unwrap()));
  return schema instanceof z.ZodEnum ? z.string() : schema;
}
