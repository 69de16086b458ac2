import type { z } from 'zod';
import { type Camel, camelize, snakeize } from './casing.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { parseMessage } from './parse.ts';
import { isNewerMinor } from './version.ts';

/**
 * Reads a message of the wire: known fields are validated, unknown ones kept as they are. In a message of a newer minor
 * version, a word that a list of a report lacks (see `reported`) is read as a known one and kept beside it; everywhere
 * else it is refused. INVALID_PARAMS names every wrong field.
 */
export function decodeWith<S extends z.ZodType>(schema: S, wire: unknown): Camel<z.output<S>> {
  const asSent = wire as z.output<S>;
  const newer = isJsonObject(wire) && isNewerMinor(wire['protocol_version']);
  parseMessage(schema, newer ? snakeize(schema, camelize(schema, asSent)) : wire);
  // Not what the parser made of it, so that keys keep their order: nothing in the schemas transforms.
  return camelize(schema, asSent);
}

/**
 * Writes a message as it stands on the wire. Words that we read as others go out as they came where the message is of a
 * newer minor version, which has them; in a version that lacks them, as what we read them as.
 */
export function encodeWith<S extends z.ZodType>(schema: S, message: Camel<z.output<S>>): JsonObject {
  const version =
    typeof message === 'object' && message !== null && 'protocolVersion' in message
      ? message.protocolVersion
      : undefined;
  return snakeize(schema, message, { words: isNewerMinor(version) }) as JsonObject;
}
