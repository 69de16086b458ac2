import type { z } from 'zod';
import { isJsonObject } from './json.ts';
import { readAs } from './reported.ts';

/**
 * Translates between snake_case on the wire and camelCase in code. Only keys that a schema names are renamed: the keys
 * of records (`mcp_health`) are data, and unknown fields pass through unchanged (docs/handshake.md#transport).
 */
type CamelKey<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : S;

type KnownKeys<T> = keyof { [K in keyof T as string extends K ? never : K]: T[K] };

/** The camelCase type of a wire type. Unknown keys of loose objects are kept at run time but have no type. */
export type Camel<T> = T extends readonly (infer U)[]
  ? Camel<U>[]
  : T extends object
    ? [KnownKeys<T>] extends [never]
      ? { [K in keyof T]: Camel<T[K]> }
      : { [K in KnownKeys<T> as K extends string ? CamelKey<K> : K]: K extends keyof T ? Camel<T[K]> : never }
    : T;

type Def = {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly entries?: Readonly<Record<string, string>>;
};

export const toCamel = (key: string): string =>
  key.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

/**
 * Prefixes an unknown wire field whose name is the camelCase name of a known one (`taskId`). The unknown field can
 * neither replace the known one unvalidated nor get lost.
 */
const ESCAPE = 'wire:';

/**
 * Prefixes the key, beside a field, that holds the field's original word when its enum does not know it (see
 * `reported`).
 */
const WORD = 'word:';
const MAX_WORD = 200;

const escapeUnknown = (key: string, camelNames: Pick<ReadonlyMap<string, string>, 'has'>): string =>
  camelNames.has(key) || key.startsWith(ESCAPE) || key.startsWith(WORD) ? ESCAPE + key : key;

const unescapeUnknown = (key: string): string => (key.startsWith(ESCAPE) ? key.slice(ESCAPE.length) : key);

/** The schema of the values, without what makes it optional or nullable. */
const innermost = (schema: z.core.$ZodType): z.core.$ZodType => {
  const { innerType } = schema._zod.def as unknown as Def;
  return innerType ? innermost(innerType) : schema;
};

const defOf = (schema: z.core.$ZodType): Def => innermost(schema)._zod.def as unknown as Def;

/** The known word that replaces an unknown one; undefined for a known word, and for a value that is not a word. */
function substitute(schema: z.core.$ZodType, value: unknown): string | undefined {
  const { type, entries = {} } = defOf(schema);
  if (type !== 'enum' || typeof value !== 'string' || value === '' || value.length > MAX_WORD)
    return undefined;
  return Object.values(entries).includes(value) ? undefined : readAs(innermost(schema));
}

/** The unknown word of a field, or the unknown entries of a record of words; undefined without any. */
function unknownWords(schema: z.core.$ZodType, value: unknown): unknown {
  const { type, valueType } = defOf(schema);
  if (type !== 'record' || !valueType || !isJsonObject(value))
    return substitute(schema, value) === undefined ? undefined : value;
  const unknown = Object.entries(value).filter(([, item]) => substitute(valueType, item) !== undefined);
  return unknown.length === 0 ? undefined : Object.fromEntries(unknown);
}

/** Puts the original words back where the value is still their substitute. */
function restored(schema: z.core.$ZodType, value: unknown, words: unknown): unknown {
  const { type, valueType } = defOf(schema);
  if (type !== 'record' || !valueType || !isJsonObject(value) || !isJsonObject(words))
    return substitute(schema, words) === value ? words : value;
  const items = Object.entries(value).map(([key, item]) => [
    key,
    Object.hasOwn(words, key) ? restored(valueType, item, words[key]) : item,
  ]);
  return Object.fromEntries(items);
}

/** `words`: to snake_case, with unknown words put back. */
type Direction = 'camel' | 'snake' | 'words';

function rename(schema: z.core.$ZodType, value: unknown, direction: Direction): unknown {
  const def = defOf(schema);
  if (def.type === 'array' && def.element && Array.isArray(value)) {
    const element = def.element;
    return value.map((item) => rename(element, item, direction));
  }
  if (def.type === 'record' && def.valueType && isJsonObject(value)) {
    const { valueType } = def;
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, item]) => [key, rename(valueType, item, direction)]));
  }
  if (def.type === 'object' && def.shape && isJsonObject(value))
    return direction === 'camel' ? toCode(def.shape, value) : toWire(def.shape, value, direction);
  return (direction === 'camel' ? substitute(schema, value) : undefined) ?? value;
}

type Shape = Readonly<Record<string, z.core.$ZodType>>;

interface Field {
  readonly camel: string;
  readonly wire: string;
  readonly field: z.core.$ZodType;
  /** The value is the same in code and on the wire: it contains neither named keys nor words with a substitute. */
  readonly isPlain: boolean;
}

interface Names {
  readonly byWireName: ReadonlyMap<string, Field>;
  readonly byCamelName: ReadonlyMap<string, Field>;
}

/** See `Field.isPlain`. */
function isPlain(schema: z.core.$ZodType): boolean {
  const { type, element, valueType } = defOf(schema);
  if (type === 'array' && element) return isPlain(element);
  if (type === 'record' && valueType) return isPlain(valueType);
  return type === 'enum' ? readAs(innermost(schema)) === undefined : type !== 'object';
}

/** Cached, because every message needs them. */
const namesOfShapes = new WeakMap<Shape, Names>();

function namesOf(shape: Shape): Names {
  const cached = namesOfShapes.get(shape);
  if (cached) return cached;
  const fields = Object.entries(shape).map(([wire, field]): Field => {
    return { camel: toCamel(wire), wire, field, isPlain: isPlain(field) };
  });
  const names = {
    byWireName: new Map(fields.map((field) => [field.wire, field])),
    byCamelName: new Map(fields.map((field) => [field.camel, field])),
  };
  namesOfShapes.set(shape, names);
  return names;
}

/** Sets an own property, even one named `__proto__`. */
function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

// `for … in` lists the keys of a parsed object or of a literal without making an array of them for every message.
function toCode(shape: Shape, value: Record<string, unknown>): Record<string, unknown> {
  const { byWireName, byCamelName } = namesOf(shape);
  const result: Record<string, unknown> = {};
  for (const key in value) {
    const item = value[key];
    if (item === undefined) continue;
    const known = byWireName.get(key);
    if (known === undefined) {
      setOwn(result, escapeUnknown(key, byCamelName), item);
      continue;
    }
    const { camel, field } = known;
    if (known.isPlain) {
      result[camel] = item;
      continue;
    }
    const words = unknownWords(field, item);
    result[camel] = rename(field, item, 'camel');
    if (words !== undefined) result[WORD + camel] = words;
  }
  return result;
}

function toWire(shape: Shape, value: Record<string, unknown>, direction: Direction): Record<string, unknown> {
  const { byCamelName } = namesOf(shape);
  const result: Record<string, unknown> = {};
  for (const key in value) {
    const item = value[key];
    if (item === undefined) continue;
    const known = byCamelName.get(key);
    if (known === undefined) {
      if (!key.startsWith(WORD)) setOwn(result, unescapeUnknown(key), item);
      continue;
    }
    const { wire, field } = known;
    if (known.isPlain) {
      result[wire] = item;
      continue;
    }
    const words = direction === 'words' ? value[WORD + key] : undefined;
    result[wire] = words === undefined ? rename(field, item, direction) : restored(field, item, words);
  }
  return result;
}

/**
 * Renames the keys that `schema` names from snake_case to camelCase, at every depth. Replaces a word that a `reported`
 * enum does not know with its substitute and keeps the original beside it.
 */
export function camelize<S extends z.ZodType>(schema: S, wire: z.output<S>): Camel<z.output<S>> {
  return rename(schema, wire, 'camel') as Camel<z.output<S>>;
}

/**
 * Renames the keys that `schema` names from camelCase to snake_case, at every depth; drops undefined. `words` puts the
 * original words back.
 */
export function snakeize<S extends z.ZodType>(
  schema: S,
  value: Camel<z.output<S>>,
  { words = false } = {},
): z.output<S> {
  return rename(schema, value, words ? 'words' : 'snake') as z.output<S>;
}
