import type { Answer, Params, Route } from '@hermes-fleet/protocol/api';
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

interface ServeOptions {
  readonly bodyLimit?: number;
  readonly config?: FastifyContextConfig;
}

type Handler<P extends string, S extends z.ZodType> = (
  request: FastifyRequest<{ Params: Params<P> }>,
  reply: FastifyReply,
) => Answer<S> | Promise<Answer<S>> | FastifyReply;

/**
 * Serves a route of the fleet's own API: the compiler holds the answer of `handler` against the schema of the route. It costs
 * nothing at run time: the answer is sent as it is.
 */
export function serve<P extends string, S extends z.ZodType>(
  app: FastifyInstance,
  { method, path }: Route<P, S>,
  ...rest: [Handler<P, S>] | [ServeOptions, Handler<P, S>]
): void {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest;
  app.route<{ Params: Params<P> }>({ ...options, method, url: path, handler });
}
