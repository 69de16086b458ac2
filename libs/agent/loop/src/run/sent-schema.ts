import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { describedBounds, valuesInWords } from './schema-bounds.ts';
import { hasShape, isOf, merged, referenced, typeOf } from './schema-parts.ts';

/** Why no model can be sent a tool's schema. */
export class SchemaProblem extends Error {
  override readonly name: string = 'SchemaProblem';
}

class TooLarge extends SchemaProblem {
  override readonly name = 'TooLarge';
}

export interface SentSchema {
  /** An object with `properties`. */
  readonly schema: JsonObject;
  /** True where the tool's input is the field `input` of the model's: alternatives may not be at the top. */
  readonly isWrapped: boolean;
}

const MAX_CHARS = 16_000;
/** Bounds the work: a schema that is so much longer than its sent form is none that a person wrote. */
const MAX_WHOLE_CHARS = 100_000;
const MAX_DEPTH = 32;
const MAX_SCHEMAS = 4_000;
/** The most references within each other that are replaced; fewer, where that makes a schema too large. */
const REFERENCES = [12, 3, 1];
const MAX_VALUE_CHARS = 200;

const PLAIN: readonly JsonObject[] = ['string', 'number', 'boolean', 'object'].map((type) => ({ type }));
/** A server may refuse a schema without a type, and a list without `items`. */
const ANY: JsonObject = { anyOf: [...PLAIN, { type: 'array', items: { anyOf: [...PLAIN] } }] };

/**
 * The form of a tool's schema that every provider takes (docs/agent.md#definitions): types, properties, `required`, `enum`,
 * `items`, `anyOf`, and descriptions, which tell the bounds that are left out. Local references are replaced by what they
 * name. The result is its own sent form. Throws SchemaProblem.
 */
export function sentSchema(whole: JsonObject): SentSchema {
  const { length } = JSON.stringify(whole);
  if (length > MAX_WHOLE_CHARS) throw new SchemaProblem(`its schema takes ${length} characters`);
  let tooLarge: unknown;
  for (const references of REFERENCES) {
    try {
      return compiled(whole, references);
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      tooLarge = error;
    }
  }
  throw tooLarge;
}

/** A schema without references and `allOf` of its own, and the references within which it is. */
interface Flat {
  readonly node: JsonObject;
  readonly within: readonly string[];
}

function compiled(whole: JsonObject, maxReferences: number): SentSchema {
  let schemas = 0;

  /** Undefined for a schema that nothing fits. */
  function flat(value: JsonValue, within: readonly string[], depth: number): Flat | undefined {
    schemas += 1;
    if (schemas > MAX_SCHEMAS) throw new TooLarge(`its schema has more than ${MAX_SCHEMAS} parts`);
    if (depth > MAX_DEPTH) throw new SchemaProblem(`its schema is nested deeper than ${MAX_DEPTH}`);
    if (value === false) return undefined;
    if (!isJsonObject(value)) return { node: {}, within };
    const { $ref: reference, allOf, not, oneOf, ...own } = value;
    if (isJsonObject(not) && Object.keys(not).length === 0) return undefined;
    const parts = Array.isArray(allOf) ? allOf.map((part) => flat(part, within, depth + 1)) : [];
    if (typeof reference === 'string') parts.push(target(reference, within, depth));
    let found: Flat = { node: own, within };
    if (oneOf !== undefined) parts.unshift({ node: { oneOf }, within });
    for (const part of parts) {
      if (part === undefined) return undefined;
      const all = new Set([...found.within, ...part.within]);
      found = { node: merged(found.node, part.node), within: [...all] };
    }
    return found;
  }

  /** A reference within itself is any value of its type. */
  function target(reference: string, within: readonly string[], depth: number): Flat | undefined {
    const named = referenced(whole, reference);
    if (named === undefined)
      throw new SchemaProblem(`its schema refers to ${reference.slice(0, 100)}, which it does not have`);
    if (!within.includes(reference) && within.length < maxReferences)
      return flat(named, [...within, reference], depth + 1);
    const type = isJsonObject(named) ? typeOf(named) : undefined;
    return { node: type === undefined ? {} : { type }, within };
  }

  function build(value: JsonValue, within: readonly string[], depth: number): JsonObject | undefined {
    const found = flat(value, within, depth);
    if (found === undefined) return undefined;
    const { anyOf: any, oneOf: one, ...base } = found.node;
    const stated = Array.isArray(any) ? any : one;
    const choices = Array.isArray(stated)
      ? stated.flatMap((choice) => flat(choice, found.within, depth + 1) ?? [])
      : [];
    if (choices.some(({ node }) => hasShape(node, base))) return either(base, choices, depth);
    return single(base, needs(choices), found.within, depth);
  }

  /** Each alternative has what all have in common, because some servers read nothing beside `anyOf`. */
  function either(
    { description = '', default: preset = null, ...common }: JsonObject,
    choices: readonly Flat[],
    depth: number,
  ): JsonObject | undefined {
    const distinct = new Map<string, JsonObject>();
    for (const { node, within } of choices) {
      const built = build(merged(node, common), within, depth + 1);
      if (built !== undefined) distinct.set(JSON.stringify(built), built);
    }
    const [only, ...more] = distinct.values();
    if (only === undefined) return undefined;
    const said = describedBounds({ description, default: preset });
    const all = more.length === 0 ? only : { anyOf: [only, ...more] };
    return said === undefined ? all : { ...all, description: said };
  }

  function single(
    schema: JsonObject,
    needed: string | undefined,
    within: readonly string[],
    depth: number,
  ): JsonObject {
    const values = schema.const === undefined ? schema.enum : [schema.const];
    const allowed = Array.isArray(values) ? values : [];
    const type = typeOf({ ...schema, enum: allowed });
    const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== undefined);
    // A provider refuses other values, and an empty text.
    const names = types.includes('string')
      ? allowed.filter((value) => typeof value === 'string' && value)
      : [];
    const rest = allowed.filter(
      (value) => typeof value !== 'string' && types.some((one) => isOf(value, one)),
    );
    if (names.length > 0 && rest.length > 0) {
      // A list of texts alone would forbid the other values.
      const { const: _only, description = '', default: preset = null, ...common } = schema;
      const choices = [
        { type: 'string', enum: allowed.filter((value) => typeof value === 'string') },
        { ...common, type: types.filter((one) => rest.some((value) => isOf(value, one))), enum: rest },
      ];
      const all = choices.map((node) => ({ node, within }));
      return either({ description, default: preset }, all, depth) ?? ANY;
    }
    const isObject = types.includes('object');
    const isList = types.includes('array');
    const each = isObject ? eachValue(schema, within, depth) : undefined;
    const description = describedBounds(schema, [needed, each, valuesInWords(allowed, names)]);
    if (type === undefined) return { ...ANY, ...(description !== undefined && { description }) };
    return {
      type,
      ...(description !== undefined && { description }),
      ...(names.length > 0 && { enum: names }),
      ...(isObject && fields(schema, within, depth)),
      ...(isList && { items: items(schema, within, depth) }),
    };
  }

  function fields(
    { properties, required }: JsonObject,
    within: readonly string[],
    depth: number,
  ): JsonObject {
    const stated = Object.entries(isJsonObject(properties) ? properties : {});
    const wanted = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
    const names = new Set(stated.map(([name]) => name));
    // A provider refuses a required name that is no property.
    const unstated = [...new Set(wanted)]
      .filter((name) => !names.has(name))
      .map((name) => [name, {}] as const);
    const built = [...stated, ...unstated].flatMap(([name, property]) => {
      const found = build(property, within, depth + 1);
      return found === undefined ? [] : [[name, found] as const];
    });
    const needed = built.map(([name]) => name).filter((name) => wanted.includes(name));
    return {
      ...(built.length > 0 && { properties: Object.fromEntries(built) }),
      ...(needed.length > 0 && { required: needed }),
    };
  }

  function items(schema: JsonObject, within: readonly string[], depth: number): JsonObject {
    const each = schema.prefixItems ?? schema.items ?? {};
    return build(Array.isArray(each) ? { anyOf: each } : each, within, depth + 1) ?? ANY;
  }

  /** Describes the values of fields without a name of their own. */
  function eachValue(
    { additionalProperties: value = true }: JsonObject,
    within: readonly string[],
    depth: number,
  ): string | undefined {
    const built = isJsonObject(value) ? build(value, within, depth + 1) : undefined;
    if (built === undefined || isDeepStrictEqual(built, ANY)) return undefined;
    const text = JSON.stringify(built);
    return text.length > MAX_VALUE_CHARS ? undefined : `each value: ${text}`;
  }

  const type = typeOf(whole) ?? 'object';
  if (type !== 'object' && !type.includes('object'))
    throw new SchemaProblem(`its schema is of type ${JSON.stringify(type)}, not of an object`);
  return finished(build({ ...whole, type: 'object' }, [], 0));
}

function finished(built: JsonObject = {}): SentSchema {
  // The input of a tool is an object, whatever else a schema allows.
  const choices = Array.isArray(built.anyOf) ? built.anyOf.filter(isObjectSchema) : [];
  const [only = built] = choices;
  const isWrapped = choices.length > 1;
  if (!(isWrapped || isObjectSchema(only))) throw new SchemaProblem('its schema fits no object');
  const schema: JsonObject = isWrapped
    ? { type: 'object', properties: { input: { ...built, anyOf: choices } }, required: ['input'] }
    : { ...only, properties: only.properties ?? {} };
  const { length } = JSON.stringify(schema);
  if (length > MAX_CHARS) throw new TooLarge(`its schema takes ${length} characters`);
  return { schema, isWrapped };
}

const isObjectSchema = (schema: JsonValue): schema is JsonObject =>
  isJsonObject(schema) && schema.type === 'object';

/** The rules of alternatives that are nothing but lists of required fields, in words. */
function needs(choices: readonly Flat[]): string | undefined {
  const lists = choices.map(({ node }) => (Array.isArray(node.required) ? node.required.join(' and ') : ''));
  return lists.length === 0 || lists.includes('') ? undefined : `needs ${lists.join(', or ')}`;
}
