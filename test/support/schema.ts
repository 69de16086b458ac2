import type { z } from 'zod';

/** One key of a schema. `defaultValue` is undefined where the key has none. */
export interface Leaf {
  readonly path: string;
  readonly required: boolean;
  readonly defaultValue: unknown;
}

interface Seen {
  readonly optional: boolean;
  readonly defaultValue: unknown;
  /** True if a list of plain values is marked as one. */
  readonly brackets: boolean;
}

/**
 * Every key at the ends of a schema, as the documents write it: `fleet.server.bind_port`, `mcp.servers.<name>.url` for
 * records, `unmet[].kind` for lists.
 */
export function leaves(schema: z.core.$ZodType, o: { brackets: boolean }): Leaf[] {
  return walk(schema, '', { optional: false, defaultValue: undefined, ...o });
}

function walk(schema: z.core.$ZodType, path: string, seen: Seen): Leaf[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'readonly':
      return walk(def.innerType, path, { ...seen, optional: true });
    case 'default':
      return walk(def.innerType, path, { ...seen, optional: true, defaultValue: def.defaultValue });
    case 'prefault':
      return walk(def.innerType, path, { ...seen, optional: true });
    case 'pipe':
      return walk(def.in, path, seen);
    case 'object':
      return Object.entries(def.shape).flatMap(([key, field]) =>
        walk(field, path === '' ? key : `${path}.${key}`, {
          ...seen,
          optional: false,
          defaultValue: undefined,
        }),
      );
    case 'record':
      return walk(def.valueType, `${path}.<name>`, { ...seen, optional: true, defaultValue: undefined });
    case 'array': {
      const { type } = (def.element as z.core.$ZodTypes)._zod.def;
      if (type === 'object' || seen.brackets) return walk(def.element, `${path}[]`, seen);
      return [leaf(path, seen)];
    }
    default:
      return [leaf(path, seen)];
  }
}

const leaf = (path: string, { optional, defaultValue }: Seen): Leaf => ({
  path,
  required: !optional,
  defaultValue,
});
