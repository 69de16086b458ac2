import { FLEET, JOINING } from '@hermes-fleet/protocol/api';
import { requireScope, serve } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Gateway } from '../gateway.ts';
import { readInput } from '../http/read-input.ts';
import { REDEEM } from './join-tokens.ts';
import type { Joining } from './joining.ts';

/** Needed to make join tokens, to revoke tokens and workers, and to drain a profile (docs/peering.md#scopes). */
const OPERATE = 'operate';

/** A request to join, or for a join token, is small. */
const BODY_LIMIT_BYTES = 65_536;

/**
 * The routes by which workers join an orchestrator and leave it (docs/peering.md#joining). A join token
 * reaches `/fleet/join` alone, and a worker its own membership.
 */
export function registerJoinRoutes(app: FastifyInstance, { tokens, memberships, examine }: Joining): void {
  const small = { bodyLimit: BODY_LIMIT_BYTES };
  serve(app, JOINING.offer, (request) => {
    requireScope(request.caller, REDEEM);
    return memberships.offer(request.caller);
  });
  serve(app, JOINING.join, small, async (request) => {
    requireScope(request.caller, REDEEM);
    return memberships.redeem(request.caller, request.body);
  });

  serve(app, JOINING.membership, (request) => memberships.of(request.caller.name));
  serve(app, JOINING.check, async (request) => ({
    findings: await examine(memberships.of(request.caller.name).name),
  }));
  serve(app, JOINING.leave, small, async (request) =>
    memberships.leave(
      memberships.of(request.caller.name).name,
      readInput('the body is', Leave, request.body ?? {}),
    ),
  );

  serve(app, JOINING.createToken, small, async (request, reply) => {
    requireScope(request.caller, OPERATE);
    reply.header('cache-control', 'no-store');
    return tokens.create(request.body, request.caller);
  });
  serve(app, JOINING.tokens, (request) => {
    requireScope(request.caller, OPERATE);
    return { join_tokens: tokens.list() };
  });
  serve(app, JOINING.revokeToken, async (request) => {
    requireScope(request.caller, OPERATE);
    return tokens.revoke(request.params.id);
  });
  serve(app, JOINING.workers, (request) => {
    requireScope(request.caller, OPERATE);
    return { workers: memberships.list() };
  });
  serve(app, JOINING.revokeWorker, async (request) => {
    requireScope(request.caller, OPERATE);
    return memberships.revoke(request.params.id);
  });
}

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

const Leave = z.strictObject({ now: z.boolean().default(false) });
