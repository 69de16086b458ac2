import { z } from 'zod';
import type { JsonObject } from './json.ts';

/** The JSON Schema (2020-12) of a wire message, generated from the schema that validates it. */
export function publishedSchema(wire: z.ZodType, id: string): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(wire, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Redundant: every key of a JSON object is a string.
      delete jsonSchema.propertyNames;
    },
  }) as JsonObject;
  return { ...($schema === undefined ? {} : { $schema }), $id: id, ...schema };
}
