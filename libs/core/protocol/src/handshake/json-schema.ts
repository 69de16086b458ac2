import { publishedSchemas } from '../wire/published-schema.ts';
import { PROTOCOL_VERSION } from '../wire/version.ts';
import { SessionAnnounceWire } from './announce.ts';
import { TaskDispatchWire } from './dispatch.ts';
import { TaskResultWire } from './result.ts';

/**
 * The JSON Schemas of the three messages. They do not check whether `task.output_schema` is usable, nor its size.
 */
export const handshakeSchemas = () =>
  publishedSchemas(`urn:hermes-fleet:handshake:${PROTOCOL_VERSION}`, {
    'session-announce': SessionAnnounceWire,
    'task-dispatch': TaskDispatchWire,
    'task-result': TaskResultWire,
  });
export type HandshakeMessage = keyof ReturnType<typeof handshakeSchemas>;
