import { z } from 'zod';
import type { JsonObject } from './json.ts';

/**
 * The JSON Schemas (2020-12) of messages by their names, generated from the schemas that validate them. `urn` and the name are
 * the id.
 */
export const publishedSchemas = <N extends string>(urn: string, messages: Readonly<Record<N, z.ZodType>>) =>
  Object.fromEntries(
    Object.entries<z.ZodType>(messages).map(([name, wire]) => [name, schemaOf(wire, `${urn}:${name}`)]),
  ) as Record<N, JsonObject>;

function schemaOf(wire: z.ZodType, id: string): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(wire, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Redundant: every key of a JSON object is a string.
      delete jsonSchema.propertyNames;
    },
  }) as JsonObject;
  return { ...($schema === undefined ? {} : { $schema }), $id: id, ...schema };
}
