import { fastifySSE } from '@fastify/sse';
import type { Ledger } from '@hermes-fleet/ledger';
import {
  type Clock,
  type Ids,
  type Intake,
  type JsonObject,
  type Log,
  type Scope,
  systemIds,
} from '@hermes-fleet/protocol';
import { translateError } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { type CardSource, registerCardRoute } from './card/card-route.ts';
import type { CustomMethod } from './rpc/custom-method.ts';
import { bodyText } from './rpc/envelope.ts';
import { type OnRefused, reportRefusal } from './rpc/refusal.ts';
import { errorReply, httpStatusOf } from './rpc/rpc-error.ts';
import { createRpcRoute } from './rpc/rpc-route.ts';
import { OpenCalls } from './server/open-calls.ts';

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
  /** JSON-RPC methods beside A2A's, by name. */
  readonly methods?: Readonly<Record<string, CustomMethod>>;
  /**
   * Awaited before the error of an authenticated request is answered that no handler, method or intake got: no JSON, no
   * request, too large, forbidden, wrong params, …
   */
  readonly onRefused?: OnRefused;
  /** Scopes that let a caller send messages beside `dispatch` and `announce`; what for is the intake's to say. */
  readonly sendScopes?: readonly Scope[];
  /**
   * Tells data parts that the intake reads from their text: where a message is nested too deeply because of one, it is not
   * refused, but handed over with that part's members that are not nested, and its whole text.
   */
  readonly readsText?: (data: JsonObject) => boolean;
}

/**
 * A2A 1.0 (and 0.3) over JSON-RPC on an app of createApp: POST /jsonrpc, /jsonrpc/ and /, and the agent card. Lives in
 * a scope of its own, with its own body parser and error shape. `closeStreams` ends every stream after what it has
 * sent and answers every waiting SendMessage with its task as it stands; the app's own closing does the same. A service
 * that has more than A2A to offer at this address gives `methods`; one that keeps account of what it refused, `onRefused`.
 */
export function registerA2A(app: FastifyInstance, o: A2AOptions): { closeStreams(): Promise<void> } {
  const calls = new OpenCalls({ stream: o.maxStreamsPerCaller ?? 256, send: o.maxWaitingPerCaller ?? 1_000 });
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (_request: unknown, body: Buffer) => bodyText(body),
    );
    const known = new WeakSet<object>();
    // Not reached by a request that authentication refused.
    scope.addHook('onRequest', async (request) => {
      known.add(request);
    });
    scope.setErrorHandler(async (thrown, request, reply) => {
      const error = translateError(thrown, request, reply);
      if (request.method === 'POST' && known.has(request))
        await reportRefusal(o, request, { text: null, error });
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
