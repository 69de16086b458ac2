import { fastifySSE } from '@fastify/sse';
import { createDeadlines, systemIds } from '@hermes-fleet/protocol/ports';
import { isAnonymous, takeJsonAsText, translateError } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { registerCardRoute } from './card/card-route.ts';
import { bodyTooLarge, RELAY_BYTES, readBody } from './rpc/body-limit.ts';
import type { A2AOptions } from './rpc/exchange.ts';
import { HEARTBEAT_MS } from './rpc/heartbeat-reply.ts';
import { reportRefusal } from './rpc/refused-request.ts';
import { errorReply, httpStatusOf } from './rpc/rpc-error.ts';
import { createRpcRoute } from './rpc/rpc-route.ts';
import { registerArtifactRoute } from './server/artifact-route.ts';
import { OpenCalls } from './server/open-calls.ts';

/** Of Fastify. */
const DEFAULT_BODY_LIMIT = 1_048_576;

/**
 * Serves A2A 1.0 and 0.3 over JSON-RPC at POST /jsonrpc, /jsonrpc/ and /, and the agent card, in a Fastify scope with its
 * own body parser and error format. `closeStreams` ends every stream after the event in progress, or at its end within
 * 2 s if its task has ended, and answers every waiting SendMessage with the current task; closing the app does the same.
 * `openCalls` is the number of both.
 */
export function registerA2A(
  app: FastifyInstance,
  options: A2AOptions,
): { closeStreams(): Promise<void>; openCalls(): number } {
  const calls = new OpenCalls({
    stream: options.maxStreamsPerCaller ?? 256,
    send: options.maxWaitingPerCaller ?? 1_000,
  });
  registerArtifactRoute(app, options);
  const { bodyLimit: limit = DEFAULT_BODY_LIMIT } = app.initialConfig;
  app.register(async (scope) => {
    takeJsonAsText(scope, (body) => readBody(body, limit));
    scope.setErrorHandler(async (thrown, request, reply) => {
      const translated = translateError(thrown, request, reply);
      const error = translated.code === 'BODY_TOO_LARGE' ? bodyTooLarge(limit) : translated;
      // Requests that are refused before their caller is known are not reported.
      if (request.method === 'POST' && !isAnonymous(request.caller))
        await reportRefusal(options, request, { text: null, error });
      return reply.code(httpStatusOf(error)).send(errorReply(null, error));
    });
    scope.addHook('preClose', async () => {
      options.log.debug({ open: calls.size }, 'closing streams');
      await calls.close();
    });
    const heartbeats = createDeadlines({ clock: options.clock, ms: HEARTBEAT_MS });
    scope.addHook('onClose', async () => heartbeats.close());
    registerCardRoute(scope, options.card, options.clock);
    const { ids = systemIds, heartbeatMs = 15_000 } = options;
    await scope.register(fastifySSE, { heartbeatInterval: heartbeatMs });
    const handler = createRpcRoute({ ...options, calls, heartbeats, ids });
    for (const url of ['/jsonrpc', '/jsonrpc/', '/'])
      scope.post(url, { sse: { kind: 'manual' }, bodyLimit: limit + RELAY_BYTES }, handler);
  });
  return { closeStreams: () => calls.close(), openCalls: () => calls.size };
}
