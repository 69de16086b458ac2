import { z } from 'zod';
import type { AnnounceView } from '../handshake/announce.ts';
import { JOIN_PATH, JoinOffer, MEMBERSHIP_PATH, Membership } from '../join/join.ts';
import { Finding } from './reports.ts';
import { del, get, post } from './route.ts';

const text = z.string();
const texts = z.array(text);
const number = z.number();

/** What a peer said of itself, in its last announce. The compiler names a field that an operator sees and that is missing here. */
const Announced = z.object({
  role: text.nullable(),
  ready: z.boolean(),
  model: text,
  model_tier: text,
  context_window: number,
  protocol_versions: texts,
  tools: texts,
  model_health: text.nullable(),
  mcp_health: z.record(text, text),
  active_tasks: number,
  queued_tasks: number.nullable(),
  max_concurrent_tasks: number.nullable(),
  queue_depth: number.nullable(),
  free_slots: number.nullable(),
  ttl_s: number.nullable(),
  repo_state: z.object({
    branch: text,
    clean: z.boolean(),
    base_clean: z.boolean().nullable().optional(),
    health: text,
  }),
} satisfies Readonly<Record<keyof AnnounceView<'operator'>, z.ZodType>>);

/** A peer as a profile knows it (docs/operations.md). */
export const PeerState = z.object({
  name: text,
  standing: text,
  leaving: z.boolean(),
  /** `stale`: announced before, but not lately. `silent`: never announced. `prose`: does not use the handshake. */
  state: Membership.shape.peer,
  live: z.boolean(),
  age_s: number.nullable(),
  endpoint: text.nullable(),
  circuit: z.enum(['open', 'closed']),
  circuit_open_for_s: number,
  in_flight: number,
  blocked_rate: number,
  latency_ms: number,
  card: z.object({ handshake: z.boolean(), versions: texts, age_s: number }).nullable(),
  announce: Announced.nullable(),
});

/** Where a dispatch would go, and why (docs/handshake.md#routing). */
export const RouteDecision = z.object({
  chosen: text.nullable(),
  considered: z.array(
    z.object({
      peer: text,
      verdict: z.enum(['chosen', 'eligible', 'excluded']),
      score: number,
      reasons: texts,
    }),
  ),
  unmet: z.array(z.object({ kind: text, name: text, detail: text, transient: z.boolean() })),
  waitable: z.boolean(),
});

const Tokens = z.object({
  input_tokens: number,
  output_tokens: number,
  cache_read_tokens: number,
  cache_write_tokens: number,
});

/** The tokens of a task, own and delegated, by model and source. */
export const TaskCost = z.object({
  id: text,
  task_id: text,
  state: text,
  tokens_spent: number,
  budget: z.object({ token_budget: number, remaining: number }).nullable(),
  own: Tokens,
  delegated_tokens: number,
  entries: z.array(Tokens.extend({ kind: text, source: text, model: text, calls: number })),
});

const Ceiling = z.object({
  tokens_per_day: number.nullable(),
  spent: number,
  reserved: number,
  left: number.nullable(),
});

/** The ceilings on spending and what is left below them, in tokens; null without a ceiling. */
export const Spending = z.object({
  profile: text,
  day: text,
  frees_at: text,
  tokens_per_task_tree: number.nullable(),
  own: Ceiling,
  callers: z.record(text, Ceiling),
});

/** A deletion of a context, here and at the peers that did work of it (docs/operations.md#delete-a-context). */
export const ContextDeletion = z.object({
  context_id: text,
  tasks: number,
  files: z.boolean(),
  result: z.enum(['none', 'merged', 'kept', 'deleted', 'pending']),
  peers: z.array(z.object({ peer: text, context_id: text, state: text, detail: text.optional() })),
});

/** A join token without its secret (docs/peering.md#joining). */
export const JoinTokenState = z.object({
  id: text,
  name: text,
  state: z.enum(['open', 'used', 'expired', 'revoked']),
  tier: text.nullable(),
  endpoints: texts,
  scopes: texts,
  created_by: text,
  created_at: text,
  expires_at: text,
  used_by: text.nullable(),
});

/** A worker that joined with a join token. */
export const JoinedWorker = Membership.extend({ endpoint: text, scopes: texts, joined_at: text });

/** The routes that every profile serves beside A2A and MCP. */
export const FLEET = {
  peers: get('/fleet/peers', z.object({ profile: text, peers: z.array(PeerState) })),
  route: post('/fleet/route', RouteDecision),
  cost: get('/fleet/tasks/:id/cost', TaskCost),
  spending: get('/fleet/spending', Spending),
  deleteContext: del('/fleet/contexts/:id', ContextDeletion),
  /** The tasks that a profile still has, once it takes no new ones. */
  drain: post('/fleet/drain', z.object({ running: number, waiting: number })),
};

/** The routes by which workers join an orchestrator and leave it, and those of its operator. */
export const JOINING = {
  offer: get(JOIN_PATH, JoinOffer),
  join: post(JOIN_PATH, Membership),
  membership: get(MEMBERSHIP_PATH, Membership),
  check: get(`${MEMBERSHIP_PATH}/check`, z.object({ findings: z.array(Finding) })),
  leave: post(`${MEMBERSHIP_PATH}/leave`, Membership),
  createToken: post('/fleet/join-tokens', JoinTokenState.extend({ token: text })),
  tokens: get('/fleet/join-tokens', z.object({ join_tokens: z.array(JoinTokenState) })),
  revokeToken: del('/fleet/join-tokens/:id', z.object({ id: text, state: text })),
  workers: get('/fleet/workers', z.object({ workers: z.array(JoinedWorker) })),
  revokeWorker: del('/fleet/workers/:id', z.object({ name: text, state: text, tasks: number })),
};
