import type { z } from 'zod';

/**
 * Every key at the ends of a schema, as the documents write it: `fleet.server.bind_port`, `mcp.servers.<name>.url` for
 * records, `unmet[].kind` for lists. `brackets`: a list of plain values is marked as one.
 */
export function leaves(schema: z.core.$ZodType, { brackets }: { brackets: boolean }): string[] {
  const walk = (at: z.core.$ZodType, path: string): string[] => {
    const { def } = (at as z.core.$ZodTypes)._zod;
    switch (def.type) {
      case 'optional':
      case 'nullable':
      case 'readonly':
      case 'default':
      case 'prefault':
        return walk(def.innerType, path);
      case 'pipe':
        return walk(def.in, path);
      case 'object':
        return Object.entries(def.shape).flatMap(([key, field]) =>
          walk(field, path === '' ? key : `${path}.${key}`),
        );
      case 'record':
        return walk(def.valueType, `${path}.<name>`);
      case 'array': {
        const { type } = (def.element as z.core.$ZodTypes)._zod.def;
        return type === 'object' || brackets ? walk(def.element, `${path}[]`) : [path];
      }
      default:
        return [path];
    }
  };
  return walk(schema, '');
}
