import { z } from 'zod';
import type { JsonObject } from './json.ts';

/** The JSON Schema (2020-12) of what goes in under a name, made from what the code itself validates with. */
export function publishedSchema(wire: z.ZodType, id: string): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(wire, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Says nothing: every key of a JSON object is text.
      delete jsonSchema.propertyNames;
    },
  }) as JsonObject;
  return { ...($schema === undefined ? {} : { $schema }), $id: id, ...schema };
}
