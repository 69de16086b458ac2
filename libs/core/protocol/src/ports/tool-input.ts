import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';

/** How the input of a call is understood. */
export interface ToolInput {
  /** The input by the tool's own names and types; as it was where it cannot be understood. */
  readonly input: unknown;
  /** What was understood otherwise than it was written, one clause each. Empty for an input that fits as it is. */
  readonly notes: readonly string[];
  /** Why the input has no single meaning. */
  readonly problem?: string;
  /** The parameters that were dropped; absent for none. */
  readonly dropped?: readonly DroppedParameter[];
}

/** A parameter that the schema does not have. */
export interface DroppedParameter {
  /** Where it was, as it was written, e.g. `edits[0].dryRun`. */
  readonly key: string;
  /** In snake case, e.g. `dry_run`. */
  readonly name: string;
  readonly value: unknown;
}

const MAX_NOTES = 6;
const MAX_NAME = 40;
const NUMBER = /^-?\d{1,15}(\.\d{1,15})?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/**
 * Understands what a model meant (docs/agent.md#input). A key that the schema does not have is a known key in another
 * spelling (`filePath`), one of `synonyms` (other name to own name), or dropped. A text that holds a number, a truth
 * value, a list or an object is that value where only that is allowed. `null` is absent where it is not allowed. Two
 * different values for one key are a problem.
 */
export function readToolInput(
  raw: unknown,
  schema: JsonObject,
  synonyms: Readonly<Record<string, string>> = {},
): ToolInput {
  const notes: string[] = [];
  const problems: string[] = [];
  const allDropped: DroppedParameter[] = [];

  function meaningOf(value: unknown, wanted: JsonObject, path: string): unknown {
    const kinds = kindsOf(wanted);
    const read = typeof value === 'string' && !kinds.has('string') ? parsed(value, kinds) : undefined;
    if (read !== undefined) {
      notes.push(`${path || 'the input'} is read as ${nameOfKind(read)}, not as text`);
      return meaningOf(read, wanted, path);
    }
    if (kinds.has('object') && isJsonObject(wanted.properties) && isJsonObject(value))
      return objectOf(value, wanted, wanted.properties, path);
    if (kinds.has('array') && isJsonObject(wanted.items) && Array.isArray(value)) {
      const { items } = wanted;
      return value.map((item, at) => meaningOf(item, items, `${path}[${at}]`));
    }
    return value;
  }

  function objectOf(
    value: Readonly<Record<string, unknown>>,
    wanted: JsonObject,
    properties: JsonObject,
    path: string,
  ): unknown {
    const prefix = path === '' ? '' : `${path}.`;
    const found = new Map<string, { readonly key: string; readonly value: unknown }>();
    const dropped: DroppedParameter[] = [];
    // Keys by their own name first, so that a note names the other one.
    const entries = Object.entries(value).toSorted(
      ([a], [b]) => Number(Object.hasOwn(properties, b)) - Number(Object.hasOwn(properties, a)),
    );
    for (const [key, given] of entries) {
      if (given === undefined) continue;
      const name = ownName(key, properties, synonyms);
      const property = name === undefined ? undefined : properties[name];
      if (name === undefined || !isJsonObject(property)) {
        if (wanted.additionalProperties === false)
          dropped.push({ key: short(prefix + key), name: snakeCase(key.slice(0, MAX_NAME)), value: given });
        else found.set(key, { key, value: given });
        continue;
      }
      if (given === null && !allowsNull(property)) {
        notes.push(`${short(prefix + key)}: null is left out`);
        continue;
      }
      const read = meaningOf(given, property, prefix + name);
      const other = found.get(name);
      if (other === undefined) {
        if (key !== name) notes.push(`${short(prefix + key)} is read as ${prefix + name}`);
        found.set(name, { key, value: read });
      } else if (!isDeepStrictEqual(other.value, read))
        problems.push(
          `${short(prefix + other.key)} and ${short(prefix + key)} mean the same and differ; give ${prefix + name} alone`,
        );
    }
    allDropped.push(...dropped);
    const named = dropped.slice(0, MAX_NOTES).map(({ key }) => key);
    if (named.length > 0) notes.push(`unknown and ignored: ${named.join(', ')}`);
    return Object.fromEntries([...found].map(([name, { value: read }]) => [name, read]));
  }

  const input = meaningOf(raw ?? {}, schema, '');
  return {
    input: problems.length > 0 ? raw : input,
    notes: notes.slice(0, MAX_NOTES),
    ...(allDropped.length > 0 && { dropped: allDropped }),
    ...(problems.length > 0 && { problem: problems.slice(0, MAX_NOTES).join('; ') }),
  };
}

const snakeCase = (key: string): string =>
  key
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();

/** The schema's own name for a key: the key, its snake_case, or that of a synonym. */
function ownName(
  key: string,
  properties: JsonObject,
  synonyms: Readonly<Record<string, string>>,
): string | undefined {
  if (Object.hasOwn(properties, key)) return key;
  if (key.length > MAX_NAME) return undefined;
  const snake = snakeCase(key);
  if (Object.hasOwn(properties, snake)) return snake;
  const own = Object.hasOwn(synonyms, snake) ? synonyms[snake] : undefined;
  return own !== undefined && Object.hasOwn(properties, own) ? own : undefined;
}

/** The JSON types that a schema allows; empty when it does not say. */
function kindsOf({ type, anyOf }: JsonObject): ReadonlySet<string> {
  const named = (Array.isArray(type) ? type : [type]).filter((kind) => typeof kind === 'string');
  const branches = Array.isArray(anyOf) ? anyOf.filter(isJsonObject).flatMap((one) => [...kindsOf(one)]) : [];
  return new Set([...named, ...branches]);
}

const allowsNull = (schema: JsonObject): boolean => {
  const kinds = kindsOf(schema);
  return kinds.size === 0 || kinds.has('null');
};

/** The value that a text holds, if it is of one of the kinds. */
function parsed(text: string, kinds: ReadonlySet<string>): JsonValue | undefined {
  const trimmed = text.trim();
  if (kinds.has('integer') || kinds.has('number')) if (NUMBER.test(trimmed)) return Number(trimmed);
  if (kinds.has('boolean')) {
    const found = BOOLEANS.get(trimmed.toLowerCase());
    if (found !== undefined) return found;
  }
  const isList = kinds.has('array') && trimmed.startsWith('[');
  return isList || (kinds.has('object') && trimmed.startsWith('{')) ? parseJson(trimmed) : undefined;
}

function nameOfKind(value: JsonValue): string {
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : String(value);
}

const short = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);
