import { fastifySSE } from '@fastify/sse';
import type { Ledger } from '@hermes-fleet/ledger';
import {
  type Clock,
  type Ids,
  type Intake,
  type JsonObject,
  type Log,
  systemIds,
} from '@hermes-fleet/protocol';
import { translateError } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { type CardSource, registerCardRoute } from '../card/card-route.ts';
import { errorReply, httpStatusOf } from '../rpc/rpc-error.ts';
import { createRpcRoute } from '../rpc/rpc-route.ts';
import { OpenCalls } from './open-calls.ts';

export interface A2AOptions {
  readonly ledger: Ledger;
  readonly intake: Intake;
  /** The agent card as a client at this address is to see it; called per request, with an untrusted Host. */
  readonly card: CardSource;
  /** The extension URIs that are spoken here: echoed in `A2A-Extensions` when a client asks for them. */
  readonly extensions: readonly string[];
  readonly log: Log;
  readonly clock: Clock;
  readonly ids?: Ids;
  /** Default 256. */
  readonly maxStreamsPerCaller?: number;
  /** Default 1,000: a copy of one dispatch costs no more than its connection. */
  readonly maxWaitingPerCaller?: number;
  /** Default 15 s. */
  readonly heartbeatMs?: number;
  /** Becomes Task.metadata of replies about a task, e.g. `{"urn:hermes-fleet:handshake:2": <announce>}`. */
  readonly replyMetadata?: (taskId: string) => JsonObject | undefined;
}

/**
 * A2A 1.0 (and 0.3) over JSON-RPC on an app of createApp: POST /jsonrpc, /jsonrpc/ and /, and the agent card. Lives in
 * a scope of its own, with its own body parser and error shape. `closeStreams` ends every stream after what it has
 * sent and answers every waiting SendMessage with its task as it stands; the app's own closing does the same.
 */
export function registerA2A(app: FastifyInstance, o: A2AOptions): { closeStreams(): Promise<void> } {
  const calls = new OpenCalls({ stream: o.maxStreamsPerCaller ?? 256, send: o.maxWaitingPerCaller ?? 1_000 });
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) =>
      done(null, text),
    );
    scope.setErrorHandler((thrown, request, reply) => {
      const error = translateError(thrown, request, reply);
      return reply.code(httpStatusOf(error)).send(errorReply(null, error));
    });
    scope.addHook('preClose', async () => {
      o.log.debug({ open: calls.size }, 'closing streams');
      await calls.close();
    });
    await scope.register(fastifySSE, { heartbeatInterval: o.heartbeatMs ?? 15_000 });
    registerCardRoute(scope, o.card);
    const handler = createRpcRoute({ ...o, calls, ids: o.ids ?? systemIds });
    for (const url of ['/jsonrpc', '/jsonrpc/', '/']) scope.post(url, { sse: { kind: 'manual' } }, handler);
  });
  return { closeStreams: () => calls.close() };
}
