import type { z } from 'zod';

/** A value that a schema refuses in every field, and how an answer names each of them. */
export interface Wrong {
  readonly value: unknown;
  readonly fields: readonly string[];
}

type Schema = z.core.$ZodType;

const defOf = (schema: Schema) => (schema as z.core.$ZodTypes)._zod.def;

function unwrapped(schema: Schema): Schema {
  const def = defOf(schema);
  return 'innerType' in def ? unwrapped(def.innerType) : schema;
}

/**
 * Everything wrong that can be wrong at the ends of a schema, made by walking it, so that a new field cannot be left
 * out. A field that takes any value is left out of the value.
 */
export function allWrong(schema: Schema, path = ''): Wrong {
  const inner = unwrapped(schema);
  const def = defOf(inner);
  switch (def.type) {
    case 'object': {
      const below = Object.entries(def.shape).map(
        ([key, field]) => [key, allWrong(field, path === '' ? key : `${path}.${key}`)] as const,
      );
      return {
        value: Object.fromEntries(
          below.filter(([, { fields }]) => fields.length > 0).map(([key, { value }]) => [key, value]),
        ),
        fields: below.flatMap(([, { fields }]) => fields),
      };
    }
    case 'array': {
      const { value, fields } = allWrong(def.element, `${path}[0]`);
      return { value: [value], fields };
    }
    case 'record': {
      if (defOf(def.valueType).type === 'unknown') return { value: ['no object'], fields: [path] };
      const { value, fields } = allWrong(def.valueType, `${path}.some`);
      return { value: { some: value }, fields };
    }
    case 'unknown':
      return { value: undefined, fields: [] };
    case 'string':
      return { value: 7, fields: [path] };
    default:
      return { value: 'nothing of the kind', fields: [path] };
  }
}

/** The objects, lists and records of a schema, by their path. */
export function containers(schema: Schema, path: readonly string[] = []): (readonly string[])[] {
  const def = defOf(unwrapped(schema));
  const own = path.length === 0 ? [] : [path];
  if (def.type === 'array' || def.type === 'record') return own;
  if (def.type !== 'object') return [];
  return [...own, ...Object.entries(def.shape).flatMap(([key, field]) => containers(field, [...path, key]))];
}

/** Every key of a schema that does not stand in a list or a record, with a value that is wrong there. */
export function wrongEach(
  schema: Schema,
  path: readonly string[] = [],
): (readonly [path: readonly string[], wrong: Wrong])[] {
  const def = defOf(unwrapped(schema));
  if (def.type === 'object')
    return Object.entries(def.shape).flatMap(([key, field]) => wrongEach(field, [...path, key]));
  const wrong = allWrong(schema, path.join('.'));
  return wrong.fields.length === 0 ? [] : [[path, wrong]];
}

/** A copy of an object with one field set; missing parents on its path become objects. */
export function withField(object: unknown, [key = '', ...rest]: readonly string[], value: unknown): unknown {
  const fields = typeof object === 'object' && object !== null ? object : {};
  const below: unknown = Object.entries(fields).find(([name]) => name === key)?.[1];
  return { ...fields, [key]: rest.length === 0 ? value : withField(below, rest, value) };
}
