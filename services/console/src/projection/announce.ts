import { ANNOUNCE_TYPE } from '@hermes-fleet/events';
import { type CloudEvent, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { Unusable } from './event.ts';
import { countIn, textIn, textsIn, timeIn } from './fields.ts';

/** What a member announced, as far as the console shows it; the names are those of `PeerRow` in the API. */
export interface Announced {
  readonly name: string;
  /** Ms since the epoch. */
  readonly at: number;
  readonly announce: JsonObject;
}

const MAX_MCP = 50;
const DEFAULT_TTL_S = 90;

/** Reads an announce (docs/events.md#announces). Fields of a wrong type count as absent. */
export function readAnnounced(event: CloudEvent, subject: string): Announced | Unusable {
  const [, , name = '', ...more] = subject.split('.');
  if (event.type !== ANNOUNCE_TYPE || more.length > 0) return { unusable: 'no announce of a session' };
  const at = timeIn(event.time);
  if (at === null) return { unusable: 'an unreadable time' };
  const object = (value: unknown): Record<string, unknown> => (isJsonObject(value) ? value : {});
  const { worker, capabilities, mcp_health: mcpHealth, session, limits, ...rest } = event.data;
  const [model, load, wanted] = [object(worker), object(session), object(limits)];
  const repository = object(load.repo_state);
  const branch = textIn(repository.branch, 200);
  const mcp = Object.entries(object(mcpHealth)).slice(0, MAX_MCP);
  const ttl = rest.ttl_s;
  return {
    name: name.slice(0, 100),
    at,
    announce: {
      role: textIn(rest.role, 200),
      endpoint: textIn(rest.endpoint),
      ready: rest.ready !== false,
      model: textIn(model.model) ?? 'unknown',
      model_tier: textIn(model.model_tier) ?? 'unknown',
      model_health: textIn(rest.model_health, 32),
      context_window: countIn(model.context_window) ?? 0,
      mcp: mcp.map(([server, health]) => ({
        name: server.slice(0, 100).toWellFormed(),
        health: textIn(health, 32) ?? 'unknown',
      })),
      tools: textsIn(object(capabilities).tools),
      active_tasks: countIn(load.active_tasks) ?? 0,
      max_tasks: countIn(wanted.max_concurrent_tasks),
      queued_tasks: countIn(wanted.queued_tasks),
      queue_depth: countIn(wanted.queue_depth),
      free_slots: countIn(wanted.free_slots),
      repository:
        branch === null
          ? null
          : { branch, clean: repository.clean === true, health: textIn(repository.health, 32) },
      ttl_s: typeof ttl === 'number' && ttl > 0 && ttl <= 86_400 ? ttl : DEFAULT_TTL_S,
    },
  };
}
