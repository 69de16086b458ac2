import type { JsonObject } from '../wire/json.ts';
import { publishedSchema } from '../wire/published-schema.ts';
import { PROTOCOL_VERSION } from '../wire/version.ts';
import { SessionAnnounceWire } from './announce.ts';
import { TaskDispatchWire } from './dispatch.ts';
import { TaskResultWire } from './result.ts';

const MESSAGES = {
  'session-announce': SessionAnnounceWire,
  'task-dispatch': TaskDispatchWire,
  'task-result': TaskResultWire,
} as const;

export type HandshakeMessage = keyof typeof MESSAGES;

/**
 * The JSON Schemas (2020-12) of the three messages, generated from the schemas that validate them. They do not check
 * whether `task.output_schema` is usable, nor its size.
 */
export function handshakeSchemas(): Record<HandshakeMessage, JsonObject> {
  return {
    'session-announce': schemaOf('session-announce'),
    'task-dispatch': schemaOf('task-dispatch'),
    'task-result': schemaOf('task-result'),
  };
}

const schemaOf = (name: HandshakeMessage): JsonObject =>
  publishedSchema(MESSAGES[name], `urn:hermes-fleet:handshake:${PROTOCOL_VERSION}:${name}`);
