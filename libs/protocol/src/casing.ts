import type { z } from 'zod';
import { readAs } from './reported.ts';

/**
 * The wire is snake_case, code is camelCase, and this is the only place that translates. A key is renamed only
 * where a schema names it: the keys of records (`mcp_health`) are data and unknown fields travel untouched, so
 * that a message keeps through a hop what this version does not know (design 2, Carriage).
 */
type CamelKey<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : S;

type KnownKeys<T> = keyof { [K in keyof T as string extends K ? never : K]: T[K] };

/** The camelCase type of a wire type. Unknown keys of loose objects stay at run time and have no type. */
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

const toCamel = (key: string): string => key.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

/**
 * Marks an unknown wire field whose name is the camelCase name of a known one (`taskId`), so that it can neither take
 * that one's place unvalidated nor get lost.
 */
const ESCAPE = 'wire:';

/** Marks, beside a field, the word that stood there when the field's list did not have it (see `reported`). */
const WORD = 'word:';
const MAX_WORD = 200;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escapeUnknown = (key: string, camelNames: Pick<ReadonlyMap<string, string>, 'has'>): string =>
  camelNames.has(key) || key.startsWith(ESCAPE) || key.startsWith(WORD) ? ESCAPE + key : key;

const unescapeUnknown = (key: string): string => (key.startsWith(ESCAPE) ? key.slice(ESCAPE.length) : key);

const defOf = (schema: z.core.$ZodType): Def => {
  const def = schema._zod.def as unknown as Def;
  return def.innerType ? defOf(def.innerType) : def;
};

const innermost = (schema: z.core.$ZodType): z.core.$ZodType => {
  const { innerType } = schema._zod.def as unknown as Def;
  return innerType ? innermost(innerType) : schema;
};

/** What an unknown word in this place is read as; undefined where the value is a known word, or none at all. */
function substitute(schema: z.core.$ZodType, value: unknown): string | undefined {
  const { type, entries = {} } = defOf(schema);
  if (type !== 'enum' || typeof value !== 'string' || value === '' || value.length > MAX_WORD)
    return undefined;
  return Object.values(entries).includes(value) ? undefined : readAs(innermost(schema));
}

/** The unknown words of a field: the one that it is, or those that a record of words holds; undefined without any. */
function unknownWords(schema: z.core.$ZodType, value: unknown): unknown {
  const { type, valueType } = defOf(schema);
  if (type !== 'record' || !valueType || !isObject(value))
    return substitute(schema, value) === undefined ? undefined : value;
  const unknown = Object.entries(value).filter(([, item]) => substitute(valueType, item) !== undefined);
  return unknown.length === 0 ? undefined : Object.fromEntries(unknown);
}

/** A field with the words put back that it was not read with, where it still says what they were read as. */
function restored(schema: z.core.$ZodType, value: unknown, words: unknown): unknown {
  const { type, valueType } = defOf(schema);
  if (type !== 'record' || !valueType || !isObject(value) || !isObject(words))
    return substitute(schema, words) === value ? words : value;
  const items = Object.entries(value).map(([key, item]) => [
    key,
    Object.hasOwn(words, key) ? restored(valueType, item, words[key]) : item,
  ]);
  return Object.fromEntries(items);
}

interface Direction {
  readonly to: 'camel' | 'snake';
  /** Whether unknown words are put back on the way to the wire. */
  readonly words: boolean;
}

function rename(schema: z.core.$ZodType, value: unknown, direction: Direction): unknown {
  const def = defOf(schema);
  if (def.type === 'array' && def.element && Array.isArray(value)) {
    const element = def.element;
    return value.map((item) => rename(element, item, direction));
  }
  if (def.type === 'record' && def.valueType && isObject(value)) {
    const of = def.valueType;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rename(of, item, direction)]));
  }
  if (def.type === 'object' && def.shape && isObject(value))
    return direction.to === 'camel' ? toCode(def.shape, value) : toWire(def.shape, value, direction);
  return (direction.to === 'camel' ? substitute(schema, value) : undefined) ?? value;
}

type Shape = Readonly<Record<string, z.core.$ZodType>>;

interface Field {
  readonly camel: string;
  readonly wire: string;
  readonly field: z.core.$ZodType;
  /** Whether it stands in code as on the wire: it holds no names of its own, and no words. */
  readonly isPlain: boolean;
}

/** The fields of a shape by their names in code and on the wire, worked out once: every message asks for them. */
interface Names {
  readonly camelOf: ReadonlyMap<string, Field>;
  readonly wireOf: ReadonlyMap<string, Field>;
}
const namesOfShapes = new WeakMap<Shape, Names>();

function namesOf(shape: Shape): Names {
  const known = namesOfShapes.get(shape);
  if (known) return known;
  const fields = Object.entries(shape).map(([wire, field]): Field => {
    const isPlain = !['array', 'record', 'object', 'enum'].includes(defOf(field).type);
    return { camel: toCamel(wire), wire, field, isPlain };
  });
  const names = {
    camelOf: new Map(fields.map((each) => [each.wire, each])),
    wireOf: new Map(fields.map((each) => [each.camel, each])),
  };
  namesOfShapes.set(shape, names);
  return names;
}

/** As an own property, whatever its name: `__proto__` among a message's fields is a field. */
function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function toCode(shape: Shape, value: Record<string, unknown>): Record<string, unknown> {
  const { camelOf, wireOf } = namesOf(shape);
  const found: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined) continue;
    const known = camelOf.get(key);
    if (known === undefined) {
      put(found, escapeUnknown(key, wireOf), item);
      continue;
    }
    const { camel, field } = known;
    if (known.isPlain) {
      found[camel] = item;
      continue;
    }
    const words = unknownWords(field, item);
    found[camel] = rename(field, item, { to: 'camel', words: false });
    if (words !== undefined) found[WORD + camel] = words;
  }
  return found;
}

function toWire(shape: Shape, value: Record<string, unknown>, direction: Direction): Record<string, unknown> {
  const { wireOf } = namesOf(shape);
  const found: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined) continue;
    const known = wireOf.get(key);
    if (known === undefined) {
      if (!key.startsWith(WORD)) put(found, unescapeUnknown(key), item);
      continue;
    }
    const { wire, field } = known;
    if (known.isPlain) {
      found[wire] = item;
      continue;
    }
    const words = direction.words ? value[WORD + key] : undefined;
    found[wire] = words === undefined ? rename(field, item, direction) : restored(field, item, words);
  }
  return found;
}

/**
 * Renames the keys that `schema` names from snake_case to camelCase, at every depth. A word that a list of a report
 * lacks is replaced by what it is to be read as, and remembered beside it.
 */
export function camelize<S extends z.ZodType>(schema: S, wire: z.output<S>): Camel<z.output<S>> {
  return rename(schema, wire, { to: 'camel', words: false }) as Camel<z.output<S>>;
}

/**
 * Renames the keys that `schema` names from camelCase to snake_case, at every depth; drops undefined. `words` puts words
 * back that the lists of this version lack.
 */
export function snakeize<S extends z.ZodType>(
  schema: S,
  value: Camel<z.output<S>>,
  { words = false } = {},
): z.output<S> {
  return rename(schema, value, { to: 'snake', words }) as z.output<S>;
}
