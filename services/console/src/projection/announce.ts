import { ANNOUNCE_TYPE } from '@hermes-fleet/events';
import { type CloudEvent, isJsonObject } from '@hermes-fleet/protocol';
import { type AnnounceView, undecodedView } from '@hermes-fleet/protocol/handshake';
import type { Unusable } from './event.ts';
import { countIn, textIn, textsIn, timeIn } from './fields.ts';

/** What a member announced, as far as the console shows it. */
export interface Announced {
  readonly name: string;
  /** Ms since the epoch. */
  readonly at: number;
  readonly announce: AnnouncedRow;
}

/** The last announce of a member in the API of the console. */
export interface AnnouncedRow extends Readonly<ReturnType<typeof readAnnouncedRow>> {}

const MAX_MCP = 50;
const DEFAULT_TTL_S = 90;

/** Reads an announce (docs/events.md#announces). Fields of a wrong type count as absent. */
export function readAnnounced(event: CloudEvent, subject: string): Announced | Unusable {
  const [, , name = '', ...more] = subject.split('.');
  if (event.type !== ANNOUNCE_TYPE || more.length > 0) return { unusable: 'no announce of a session' };
  const at = timeIn(event.time);
  if (at === null) return { unusable: 'an unreadable time' };
  const announce = readAnnouncedRow(undecodedView('operator', event.data), event.data.endpoint);
  return { name: name.slice(0, 100), at, announce };
}

/**
 * Reads what an operator sees of an announce, on the bus or in `GET /fleet/peers`. Fields of a wrong type count as absent.
 * The compiler names a field that is not read.
 */
export function readAnnouncedRow(
  view: { readonly [K in keyof AnnounceView<'operator'>]?: unknown },
  endpoint: unknown,
) {
  const { model, model_tier, model_health, context_window, mcp_health, repo_state, ...others } = view;
  const { role, ready, tools, active_tasks, max_concurrent_tasks, queued_tasks, ...more } = others;
  const { queue_depth, free_slots, ttl_s, protocol_versions: _, ...unread } = more;
  void (unread satisfies Record<string, never>);
  const branch = isJsonObject(repo_state) ? textIn(repo_state.branch, 200) : null;
  return {
    role: textIn(role, 200),
    endpoint: textIn(endpoint),
    ready: ready !== false,
    model: textIn(model) ?? 'unknown',
    model_tier: textIn(model_tier) ?? 'unknown',
    model_health: textIn(model_health, 32),
    context_window: countIn(context_window) ?? 0,
    mcp: Object.entries(isJsonObject(mcp_health) ? mcp_health : {})
      .slice(0, MAX_MCP)
      .map(([server, health]) => ({
        name: server.slice(0, 100).toWellFormed(),
        health: textIn(health, 32) ?? 'unknown',
      })),
    tools: textsIn(tools),
    active_tasks: countIn(active_tasks) ?? 0,
    max_tasks: countIn(max_concurrent_tasks),
    queued_tasks: countIn(queued_tasks),
    queue_depth: countIn(queue_depth),
    free_slots: countIn(free_slots),
    repository:
      branch === null || !isJsonObject(repo_state)
        ? null
        : {
            branch,
            clean: repo_state.clean === true,
            base_clean: typeof repo_state.base_clean === 'boolean' ? repo_state.base_clean : null,
            health: textIn(repo_state.health, 32),
          },
    ttl_s: typeof ttl_s === 'number' && ttl_s > 0 && ttl_s <= 86_400 ? ttl_s : DEFAULT_TTL_S,
  };
}
