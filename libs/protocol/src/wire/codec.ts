import type { z } from 'zod';
import { type Camel, camelize, snakeize } from './casing.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import { parseMessage } from './parse.ts';
import { isNewerMinor } from './version.ts';

/**
 * Decodes a message: validates known fields and keeps unknown ones. In a message of a newer minor version, a word that
 * a `reported` enum does not know is read as a known one and kept beside it; everywhere else it is invalid.
 * INVALID_PARAMS names every invalid field.
 */
export function decodeWith<S extends z.ZodType>(schema: S, wire: unknown): Camel<z.output<S>> {
  const asSent = wire as z.output<S>;
  const newer = isJsonObject(wire) && isNewerMinor(wire['protocol_version']);
  parseMessage(schema, newer ? snakeize(schema, camelize(schema, asSent)) : wire);
  // The wire value, not the parsed one, keeps the order of keys. No schema transforms values.
  return camelize(schema, asSent);
}

/**
 * Encodes a message. Words that were unknown when it was decoded are sent unchanged in a message of a newer minor
 * version, and as their substitutes in a version that does not have them.
 */
export function encodeWith<S extends z.ZodType>(schema: S, message: Camel<z.output<S>>): JsonObject {
  const version =
    typeof message === 'object' && message !== null && 'protocolVersion' in message
      ? message.protocolVersion
      : undefined;
  return snakeize(schema, message, { words: isNewerMinor(version) }) as JsonObject;
}
