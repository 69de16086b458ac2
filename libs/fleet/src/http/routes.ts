import type { Ledger } from '@hermes-fleet/ledger';
import type { PeerRegistry, RoutingDecision } from '@hermes-fleet/peers';
import {
  type Clock,
  FleetError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@hermes-fleet/protocol';
import { requireScope } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import type { Gateway } from '../gateway.ts';
import { costView } from './cost-view.ts';
import { peerView } from './peer-view.ts';

export interface FleetRoutesOptions {
  readonly profile: string;
  readonly peers: Pick<PeerRegistry, 'list'>;
  readonly gateway: Pick<Gateway, 'explain'>;
  readonly ledger: Pick<Ledger, 'get' | 'tokens'>;
  readonly clock: Clock;
  /** The budget, in tokens, of tasks that state none. */
  readonly defaultBudget?: number | undefined;
  /** Whether cache reads and writes count as spent. */
  readonly countCache: boolean;
}

/**
 * What the CLI and the console read of a profile: its peers, where a dispatch would go, and what a task has cost
 * (design 5, HTTP). All of it needs the scope `read`, and none of it records anything or spends a token.
 */
export function registerFleetRoutes(app: FastifyInstance, o: FleetRoutesOptions): void {
  app.get('/fleet/peers', (request) => {
    requireScope(request.caller, 'read');
    const now = o.clock.now();
    return { profile: o.profile, peers: o.peers.list().map((peer) => peerView(peer, now)) };
  });
  app.post('/fleet/route', async (request) => {
    requireScope(request.caller, 'read');
    return decisionView(await o.gateway.explain(dispatchIn(request.body)));
  });
  app.get<{ Params: { id: string } }>('/fleet/tasks/:id/cost', (request) => {
    requireScope(request.caller, 'read');
    const { id } = request.params;
    const task = o.ledger.get(id);
    if (!task || task.caller !== request.caller.name)
      throw new FleetError('TASK_NOT_FOUND', `task ${id} is not known`);
    return costView(task, o);
  });
}

/** A TASK_DISPATCH, or an object that holds one as `dispatch`. */
function dispatchIn(body: unknown): JsonObject {
  if (!isJsonObject(body)) {
    const reason = 'must be a TASK_DISPATCH, as a JSON object';
    throw new FleetError('INVALID_PARAMS', `the body ${reason}`, { fields: [{ path: '', reason }] });
  }
  return body.type === undefined && isJsonObject(body.dispatch) ? body.dispatch : body;
}

function decisionView({ chosen, considered, unmet, waitable }: RoutingDecision): JsonObject {
  return {
    chosen: chosen ?? null,
    considered: considered.map(
      ({ peer, verdict, score, reasons }): JsonValue => ({ peer, verdict, score, reasons: [...reasons] }),
    ),
    unmet: unmet.map(({ kind, name, detail, transient }): JsonValue => ({ kind, name, detail, transient })),
    waitable,
  };
}
