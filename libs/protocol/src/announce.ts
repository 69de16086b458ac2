import { z } from 'zod';
import { type Camel, camelize, snakeize } from './casing.ts';
import type { JsonObject } from './json.ts';
import { parseMessage } from './parse.ts';

export const McpHealth = z.enum(['ok', 'timeout', 'error', 'disabled']);
export type McpHealth = z.infer<typeof McpHealth>;

const version = z.string().regex(/^\d+\.\d+$/, 'must be "major.minor", e.g. "2.0"');
const count = z.int().nonnegative();

/** Message 1 of the handshake, as the source document writes it; optional fields after `session` are ours. */
export const SessionAnnounceWire = z.looseObject({
  type: z.literal('SESSION_ANNOUNCE'),
  protocol_version: version,
  worker: z.looseObject({
    agent_id: z.string().min(1).max(128),
    model: z.string().min(1),
    model_tier: z.string().min(1),
    context_window: count,
  }),
  capabilities: z.looseObject({
    tools: z.array(z.string().min(1)).max(1000),
    mcp_servers: z.array(z.string().min(1)).max(1000),
  }),
  mcp_health: z.record(z.string(), McpHealth),
  session: z.looseObject({
    context_id: z.string(),
    active_tasks: count,
    repo_state: z.looseObject({ branch: z.string(), clean: z.boolean() }),
    session_fresh: z.boolean(),
  }),
  protocol_versions: z.array(version).optional(),
  role: z.string().max(200).optional(),
  purpose: z.string().max(2000).optional(),
  ready: z.boolean().optional(),
  endpoint: z.url({ protocol: /^https?$/ }).optional(),
  limits: z
    .looseObject({ max_concurrent_tasks: z.int().positive(), queue_depth: count, queued_tasks: count })
    .optional(),
  ttl_s: z.number().positive().optional(),
  sent_at: z.iso.datetime({ offset: true }).optional(),
  seq: count.optional(),
  instance_id: z.string().min(1).max(128).optional(),
});

export type SessionAnnounce = Camel<z.output<typeof SessionAnnounceWire>>;

/** Reads a SESSION_ANNOUNCE from the wire; INVALID_PARAMS names every wrong field. */
export function decodeAnnounce(wire: unknown): SessionAnnounce {
  return camelize(SessionAnnounceWire, parseMessage(SessionAnnounceWire, wire));
}

export function encodeAnnounce(announce: SessionAnnounce): JsonObject {
  return snakeize(SessionAnnounceWire, announce) as JsonObject;
}
