import type { z } from 'zod';

/** The keys that a schema knows at a path: what an unknown key there might have been meant to be. */
export function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const [head, ...rest] = path;
  const found = objects(schema, 0).flatMap((def) => {
    if (head === undefined) return 'shape' in def ? Object.keys(def.shape) : [];
    if ('shape' in def) {
      const field = def.shape[String(head)];
      return field === undefined ? [] : keysAt(field, rest);
    }
    return keysAt('element' in def ? def.element : def.valueType, rest);
  });
  return [...new Set(found)];
}

type Container = z.core.$ZodObjectDef | z.core.$ZodRecordDef | z.core.$ZodArrayDef;

/** Looks through wrappers and unions down to the objects, records and arrays of a schema. */
function objects(schema: z.core.SomeType, depth: number): Container[] {
  if (depth > 16) return [];
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object':
    case 'record':
    case 'array':
      return [def];
    case 'union':
      return def.options.flatMap((option) => objects(option, depth + 1));
    case 'intersection':
      return [...objects(def.left, depth + 1), ...objects(def.right, depth + 1)];
    case 'pipe':
      return objects(def.in, depth + 1);
    case 'lazy':
      return objects(def.getter(), depth + 1);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'readonly':
    case 'catch':
      return objects(def.innerType, depth + 1);
    default:
      return [];
  }
}
