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
  parseMessage(schema, validated(schema, wire));
  // The wire value, not the parsed one, keeps the order of keys. No schema transforms values.
  return camelize(schema, wire as z.output<S>);
}

/** The value of which a schema judges a message: the message, with known words for those of a newer minor version. */
export function validated<S extends z.ZodType>(schema: S, wire: unknown): unknown {
  const newer = isJsonObject(wire) && isNewerMinor(wire['protocol_version']);
  return newer ? snakeize(schema, camelize(schema, wire as z.output<S>)) : wire;
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
