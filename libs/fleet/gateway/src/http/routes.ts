import type { ContextDeletion, Ledger } from '@hermes-fleet/ledger';
import type { PeerRegistry, RoutingDecision } from '@hermes-fleet/peers';
import { FleetError, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { type Answer, type ContextDeletion as Deletion, FLEET } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { requireScope, serve } from '@hermes-fleet/service';
import { leftOf, ownTask, type SpendingView } from '@hermes-fleet/tasks';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { pathProblem } from '../contexts/delete-at-peer.ts';
import type { Gateway } from '../gateway.ts';
import { costView } from './cost-view.ts';
import { peerView } from './peer-view.ts';
import { readInput } from './read-input.ts';
import { registerRepositoryRoutes } from './repository-routes.ts';
import { registerResultRoutes } from './result-routes.ts';

export interface FleetRoutesOptions {
  readonly profile: string;
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly gateway: Pick<Gateway, 'explain' | 'spending' | 'contexts' | 'results' | 'checkouts'>;
  readonly ledger: Pick<Ledger, 'get' | 'tokens'>;
  readonly clock: Clock;
  /** Cache reads and writes count as spent. */
  readonly countCache: boolean;
}

/**
 * The routes that the CLI and the console read: the peers, the routing of a dispatch, the cost and the result of a task, and
 * what is left of the ceilings on spending (docs/operations.md). They require the scope `read`, record nothing and spend
 * no tokens. A caller with the scope `dispatch` deletes its contexts.
 */
export function registerFleetRoutes(app: FastifyInstance, options: FleetRoutesOptions): void {
  const { profile, peers, gateway, ledger, clock } = options;
  serve(app, FLEET.peers, (request) => {
    requireScope(request.caller, 'read');
    const now = clock.now();
    return { profile, peers: peers.list().map((peer) => peerView(peer, now)) };
  });
  serve(app, FLEET.route, async (request) => {
    requireScope(request.caller, 'read');
    return decisionView(await gateway.explain(dispatchIn(request.body)));
  });
  serve(app, FLEET.cost, (request) => {
    requireScope(request.caller, 'read');
    return costView(ownTask(ledger, request.params.id, request.caller), {
      ...options,
      defaultBudget: gateway.spending.defaultBudget,
    });
  });
  serve(app, FLEET.spending, (request) => {
    requireScope(request.caller, 'read');
    return { profile, ...spendingView(gateway.spending.view()) };
  });
  registerRepositoryRoutes(app, { checkouts: gateway.checkouts, clock });
  registerResultRoutes(app, { results: gateway.results, ledger, peers, clock });
  serve(app, FLEET.deleteContext, async (request) => {
    requireScope(request.caller, 'dispatch');
    const asked = { contextId: contextIdIn(request.params.id), caller: request.caller.name };
    const { results } = readInput('the query is', Query, request.query);
    return contextDeletionView(await gateway.contexts.delete({ ...asked, results }));
  });
}

/** Accepts a TASK_DISPATCH, or an object with one in `dispatch`. */
function dispatchIn(body: unknown): JsonObject {
  if (!isJsonObject(body)) {
    const reason = 'must be a TASK_DISPATCH, as a JSON object';
    throw new FleetError('INVALID_PARAMS', `the body ${reason}`, { fields: [{ path: '', reason }] });
  }
  return body.type === undefined && isJsonObject(body.dispatch) ? body.dispatch : body;
}

/** A routing decision as its caller sees it (docs/handshake.md#routing). */
export function decisionView({
  chosen,
  considered,
  unmet,
  waitable,
}: RoutingDecision): Answer<typeof FLEET.route> {
  return {
    chosen: chosen ?? null,
    considered: considered.map(({ peer, verdict, score, reasons }) => ({ peer, verdict, score, reasons })),
    unmet: unmet.map(({ kind, name, detail, transient }) => ({ kind, name, detail, transient })),
    waitable,
  };
}

/** The ceilings on spending and what is left below them, in tokens; null without a ceiling. */
function spendingView({
  day,
  endsAt,
  taskTree,
  profile,
  callers,
}: SpendingView): Omit<Answer<typeof FLEET.spending>, 'profile'> {
  return {
    day,
    frees_at: endsAt,
    tokens_per_task_tree: taskTree ?? null,
    own: figuresView(profile),
    callers: Object.fromEntries([...callers].map(([name, figures]) => [name, figuresView(figures)])),
  };
}

function figuresView(figures: SpendingView['profile']) {
  const { limit, spent, reserved } = figures;
  return { tokens_per_day: limit ?? null, spent, reserved, left: leftOf(figures) ?? null };
}

/** The mode of a deletion in its query. */
const Query = z.strictObject({
  results: z.enum(['keep', 'delete'], 'must be keep or delete, once').default('keep'),
});

/** The context ID in the path of a deletion. Throws INVALID_PARAMS for one that a client's URL parser may remove. */
function contextIdIn(id: string): string {
  const problem = pathProblem(id);
  if (!problem) return id;
  const reason = `context_id ${problem}: such a context cannot be deleted over HTTP, only the retention removes it`;
  throw new FleetError('INVALID_PARAMS', reason, { fields: [{ path: 'context_id', reason }] });
}

/** A deletion as its caller sees it (docs/operations.md#delete-a-context). */
function contextDeletionView({
  contextId,
  tasks,
  purged,
  removed,
  peers,
}: ContextDeletion): Answer<typeof Deletion> {
  return {
    context_id: contextId,
    tasks,
    files: removed?.files ?? false,
    result: (purged ? removed?.result : undefined) ?? 'pending',
    peers: peers.map(({ peer, contextId: at, state, detail }) => ({ peer, context_id: at, state, detail })),
  };
}
