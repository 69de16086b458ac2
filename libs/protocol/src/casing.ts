import type { z } from 'zod';

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
  readonly options?: readonly z.core.$ZodType[];
};

const toCamel = (key: string): string => key.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

/**
 * Marks an unknown wire field whose name is the camelCase name of a known one (`taskId`), so that it can neither take
 * that one's place unvalidated nor get lost.
 */
const ESCAPE = 'wire:';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const escapeUnknown = (key: string, camelNames: ReadonlySet<string>): string =>
  camelNames.has(key) || key.startsWith(ESCAPE) ? ESCAPE + key : key;

const unescapeUnknown = (key: string): string => (key.startsWith(ESCAPE) ? key.slice(ESCAPE.length) : key);

function rename(schema: z.core.$ZodType, value: unknown, direction: 'camel' | 'snake'): unknown {
  const def = schema._zod.def as unknown as Def;
  if (def.innerType) return rename(def.innerType, value, direction);
  if (def.type === 'array' && def.element && Array.isArray(value)) {
    const element = def.element;
    return value.map((item) => rename(element, item, direction));
  }
  if (def.type === 'record' && def.valueType && isObject(value)) {
    const of = def.valueType;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rename(of, item, direction)]));
  }
  if (def.type !== 'object' || !def.shape || !isObject(value)) return value;
  const shape = def.shape;
  const wireNames = new Map(
    Object.keys(shape).map((wire) => [direction === 'camel' ? wire : toCamel(wire), wire]),
  );
  const camelNames = new Set(Object.keys(shape).map(toCamel));
  const renamed: [string, unknown][] = [];
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const wire = wireNames.get(key);
    const field = wire === undefined ? undefined : shape[wire];
    if (wire === undefined || field === undefined) {
      renamed.push([direction === 'camel' ? escapeUnknown(key, camelNames) : unescapeUnknown(key), item]);
    } else renamed.push([direction === 'camel' ? toCamel(wire) : wire, rename(field, item, direction)]);
  }
  return Object.fromEntries(renamed);
}

/** Renames the keys that `schema` names from snake_case to camelCase, at every depth. */
export function camelize<S extends z.ZodType>(schema: S, wire: z.output<S>): Camel<z.output<S>> {
  return rename(schema, wire, 'camel') as Camel<z.output<S>>;
}

/** Renames the keys that `schema` names from camelCase to snake_case, at every depth; drops undefined. */
export function snakeize<S extends z.ZodType>(schema: S, value: Camel<z.output<S>>): z.output<S> {
  return rename(schema, value, 'snake') as z.output<S>;
}
