import { fastifySSE } from '@fastify/sse';
import type { Ledger } from '@hermes-fleet/ledger';
import type { JsonObject } from '@hermes-fleet/protocol';
import {
  type Caller,
  type Clock,
  createDeadlines,
  type Ids,
  type Intake,
  type Log,
  type Scope,
  systemIds,
} from '@hermes-fleet/protocol/ports';
import { isAnonymous, takeJsonAsText, translateError } from '@hermes-fleet/service';
import type { FastifyInstance } from 'fastify';
import { type CardSource, registerCardRoute } from './card/card-route.ts';
import { bodyTooLarge, RELAY_BYTES, readBody } from './rpc/body-limit.ts';
import type { CustomMethod } from './rpc/custom-method.ts';
import { HEARTBEAT_MS } from './rpc/heartbeat-reply.ts';
import { type OnRefused, reportRefusal } from './rpc/refused-request.ts';
import { errorReply, httpStatusOf } from './rpc/rpc-error.ts';
import { createRpcRoute } from './rpc/rpc-route.ts';
import { registerArtifactRoute } from './server/artifact-route.ts';
import { OpenCalls } from './server/open-calls.ts';
import type { PushPort } from './server/push-methods.ts';

/** Of Fastify. */
const DEFAULT_BODY_LIMIT = 1_048_576;

export interface A2AOptions {
  readonly ledger: Ledger;
  readonly intake: Intake;
  /** Builds the agent card for the requested host; called per request, with an untrusted Host header. */
  readonly card: CardSource;
  /** Supported extension URIs: echoed in `A2A-Extensions` when a client requests them. */
  readonly extensions: readonly string[];
  readonly log: Log;
  readonly clock: Clock;
  readonly ids?: Ids;
  /** Default 256. */
  readonly maxStreamsPerCaller?: number;
  /** Default 1,000: a waiting copy of a dispatch costs only its connection. */
  readonly maxWaitingPerCaller?: number;
  /** Default 15 s. */
  readonly heartbeatMs?: number;
  /** Becomes Task.metadata of replies about a task, e.g. `{"urn:hermes-fleet:handshake:2": <announce>}`. */
  readonly replyMetadata?: (taskId: string) => JsonObject | undefined;
  /** The part of the extended card that is about a caller, beside its scopes, in wire form; read at each request for that card. */
  readonly callerView?: (caller: Caller) => JsonObject;
  /** Push notifications, which the card must then declare; absent: they are refused. */
  readonly push?: PushPort | undefined;
  /** Further JSON-RPC methods, by name. */
  readonly methods?: Readonly<Record<string, CustomMethod>>;
  /**
   * Awaited before an authenticated request is answered with an error, unless a method or the intake has received it:
   * invalid JSON, not a request, too large, forbidden, invalid params, …
   */
  readonly onRefused?: OnRefused;
  /** Scopes beside `dispatch` and `announce` that let a caller send messages; the intake checks their use. */
  readonly sendScopes?: readonly Scope[];
  /**
   * True for data parts that the intake parses from their raw text. A message that such a part nests too deeply is not
   * refused: the part keeps its scalar members and its whole text.
   */
  readonly readsText?: (data: JsonObject) => boolean;
}

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
