import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';

const TYPES: readonly JsonValue[] = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/**
 * What a local reference names: `#`, `#/$defs/place` (https://www.rfc-editor.org/rfc/rfc6901), `#place` where a definition has
 * that `$anchor`, and each after the schema's own `$id`; undefined for any other.
 */
export function referenced(whole: JsonObject, absolute: string): JsonValue | undefined {
  const { $id: id, $defs, definitions } = whole;
  const isOwn = typeof id === 'string' && absolute.split('#')[0] === id.split('#')[0];
  const reference = isOwn ? `#${absolute.split('#')[1] ?? ''}` : absolute;
  if (reference !== '#' && !reference.startsWith('#/'))
    return [$defs, definitions]
      .flatMap((all) => (isJsonObject(all) ? Object.values(all) : []))
      .find((one) => isJsonObject(one) && (`#${one.$anchor}` === reference || one.$id === reference));
  let found: JsonValue | undefined = whole;
  for (const part of reference.split('/').slice(1)) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = /^\d+$/.test(key) ? found[Number(key)] : undefined;
    else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The type or types that a schema states or shows; undefined where it may be anything. */
export function typeOf({ type, properties, items, prefixItems, enum: values }: JsonObject) {
  const stated = (Array.isArray(type) ? type : [type]).filter(
    (one): one is string => typeof one === 'string' && TYPES.includes(one),
  );
  if (stated.length > 1) return [...new Set(stated)];
  if (stated[0] !== undefined) return stated[0];
  if (isJsonObject(properties)) return 'object';
  if (items !== undefined || prefixItems !== undefined) return 'array';
  const kinds = Array.isArray(values) ? [...new Set(values.map(kindOf))] : [];
  return kinds.length > 1 ? kinds : kinds[0];
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** True for a value of this type of JSON Schema. */
export const isOf = (value: JsonValue, type: string): boolean =>
  kindOf(value) === (type === 'integer' ? 'number' : type);

const SHAPES = ['properties', 'items', 'prefixItems', 'enum', 'const', 'anyOf', 'oneOf'];

/** True for an alternative that is more than a further rule for the values of `base`, such as `required`. */
export const hasShape = (alternative: JsonObject, base: JsonObject): boolean =>
  SHAPES.some((key) => alternative[key] !== undefined) ||
  (alternative.type !== undefined && !isDeepStrictEqual(alternative.type, base.type));

/** The alternatives of two schemas make so many pairs at most; else the first schema's hold. */
const MAX_PAIRS = 32;

const alternativesOf = ({ anyOf, oneOf }: JsonObject): readonly JsonValue[] =>
  [anyOf, oneOf].find((all) => Array.isArray(all)) ?? [];

/** Merges two schemas. Where they disagree, the first holds: the tool checks its input by the whole schema. */
export function merged(first: JsonObject, second: JsonObject): JsonObject {
  const both: JsonObject = { ...second, ...first };
  if (isJsonObject(first.properties) && isJsonObject(second.properties)) {
    const others = new Map(Object.entries(second.properties));
    const shared = Object.entries(first.properties).map(([name, own]) => {
      const other = others.get(name);
      return [
        name,
        other === undefined || isDeepStrictEqual(own, other) ? own : { allOf: [own, other] },
      ] as const;
    });
    both.properties = { ...first.properties, ...second.properties, ...Object.fromEntries(shared) };
  }
  if (Array.isArray(first.required) && Array.isArray(second.required))
    both.required = [...new Set([...first.required, ...second.required])];
  if (Array.isArray(first.enum) && Array.isArray(second.enum)) {
    const others = second.enum;
    both.enum = first.enum.filter((value) => others.some((other) => isDeepStrictEqual(value, other)));
  }
  const others = alternativesOf(second);
  const pairs = alternativesOf(first).flatMap((one) => others.map((other) => ({ allOf: [one, other] })));
  if (pairs.length > 0 && pairs.length <= MAX_PAIRS) both.anyOf = pairs;
  return both;
}
