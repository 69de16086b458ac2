import { FLEET } from '@hermes-fleet/protocol/api';
import { requireScope, serve } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import type { Gateway } from '../gateway.ts';
import { OPERATE } from './join-routes.ts';

/**
 * `POST /fleet/drain`: from now on this profile takes no new task, says so in its announces, and finishes what it has; the
 * answer says how much that is. Repeat it to wait. A restart takes tasks again (docs/peering.md#membership).
 */
export function registerDrainRoute(
  app: FastifyInstance,
  { gateway }: { readonly gateway: Pick<Gateway, 'drain'> },
): void {
  serve(app, FLEET.drain, (request) => {
    requireScope(request.caller, OPERATE);
    const { running, waiting } = gateway.drain();
    return { running, waiting };
  });
}
