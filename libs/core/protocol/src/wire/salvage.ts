import { z } from 'zod';
import { isJsonObject, type JsonValue } from './json.ts';
import { fieldPath } from './parse.ts';

export interface Salvaged {
  readonly value: unknown;
  /** The paths of what is left out or has a substitute. */
  readonly dropped: readonly string[];
}

/** The value of a field that an object must have, or undefined: then the object is left out. */
export type Substitute = (path: string) => JsonValue | undefined;

interface Reading {
  /** The value that the schema judges. */
  readonly checked: unknown;
  /** The value as it was sent, which is kept. */
  readonly sent: unknown;
  readonly path: readonly PropertyKey[];
}

/**
 * Keeps of a value what the schema accepts, field by field: an invalid field, and an invalid entry of a list, is left out.
 * An object without a field that it must have gets the field's substitute, or is left out itself. Undefined if nothing is
 * left. `checked` has the structure of `sent`.
 */
export function salvage(
  schema: z.ZodType,
  { checked, sent, path }: Reading,
  substitute: Substitute,
): Salvaged | undefined {
  if (schema.safeParse(checked).success) return { value: sent, dropped: [] };
  const inner = innermost(schema);
  if (inner instanceof z.ZodObject && isJsonObject(checked) && isJsonObject(sent))
    return salvageObject(inner, { checked, sent, path }, substitute);
  if (inner instanceof z.ZodArray && Array.isArray(checked) && Array.isArray(sent))
    return salvageList(inner, { checked, sent, path }, substitute);
  return undefined;
}

function innermost(schema: z.ZodType): z.ZodType {
  const isWrapper = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
  return isWrapper ? innermost(schema.unwrap() as z.ZodType) : schema;
}

function salvageObject(
  { shape }: z.ZodObject,
  { checked, sent, path }: Reading & { readonly checked: object; readonly sent: object },
  substitute: Substitute,
): Salvaged | undefined {
  const fields = new Map<string, unknown>(Object.entries(checked));
  const kept = new Map<string, unknown>();
  const dropped: string[] = [];
  for (const [key, value] of Object.entries(sent)) {
    const field: z.ZodType | undefined = Object.hasOwn(shape, key) ? shape[key] : undefined;
    const at = [...path, key];
    const found = field
      ? salvage(field, { checked: fields.get(key), sent: value, path: at }, substitute)
      : { value, dropped: [] };
    if (found) kept.set(key, found.value);
    dropped.push(...(found?.dropped ?? [fieldPath(at)]));
  }
  for (const [key, field] of Object.entries<z.ZodType>(shape)) {
    if (kept.has(key) || field.safeParse(undefined).success) continue;
    const at = fieldPath([...path, key]);
    const value = substitute(at);
    if (value === undefined) return undefined;
    kept.set(key, value);
    if (!dropped.includes(at)) dropped.push(at);
  }
  return { value: Object.fromEntries(kept), dropped };
}

function salvageList(
  schema: z.ZodArray,
  { checked, sent, path }: Reading & { readonly checked: unknown[]; readonly sent: unknown[] },
  substitute: Substitute,
): Salvaged | undefined {
  const entry = schema.element as z.ZodType;
  const found = sent.map(
    (value, index) =>
      salvage(entry, { checked: checked[index], sent: value, path: [...path, index] }, substitute) ?? index,
  );
  const kept = found.flatMap((each) => (typeof each === 'number' ? [] : [each.value]));
  const dropped = found.flatMap((each) =>
    typeof each === 'number' ? [fieldPath([...path, each])] : each.dropped,
  );
  // Without an invalid entry, the list itself is invalid: it is too long.
  return dropped.length === 0 ? undefined : { value: kept, dropped };
}
