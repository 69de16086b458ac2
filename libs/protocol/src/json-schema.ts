import { SessionAnnounceWire } from './announce.ts';
import { TaskDispatchWire } from './dispatch.ts';
import type { JsonObject } from './json.ts';
import { publishedSchema } from './published-schema.ts';
import { TaskResultWire } from './result.ts';
import { PROTOCOL_VERSION } from './version.ts';

const MESSAGES = {
  'session-announce': SessionAnnounceWire,
  'task-dispatch': TaskDispatchWire,
  'task-result': TaskResultWire,
} as const;

export type HandshakeMessage = keyof typeof MESSAGES;

/**
 * The JSON Schemas (2020-12) of the three messages, made from what the code itself validates with. They do not say what
 * no schema can: whether `task.output_schema` is usable, and how long it may be.
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
