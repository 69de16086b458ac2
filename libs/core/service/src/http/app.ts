import type { RequestListener, Server, ServerOptions } from 'node:http';
import { FleetError } from '@hermes-fleet/protocol';
import { type Caller, type Ids, systemIds, type Tracing } from '@hermes-fleet/protocol/ports';
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify';
import type { Logger } from 'pino';
import { type Authenticator, PEER_SCOPES } from '../auth.ts';
import { createAllowedMethods } from './allowed-methods.ts';
import { createClientErrors } from './client-errors.ts';
import { type ConnectionLimits, limitConnections } from './connections.ts';
import { errorBody, translateError } from './errors.ts';
import { takeJson } from './json-body.ts';
import { addLogField, decorate, observe, pathOf, requestId } from './observe.ts';
import { createForeignRequest } from './own-hosts.ts';
import { type ProbeOptions, registerProbes } from './probes.ts';
import { RequestLog } from './request-log.ts';
import { sendHead } from './send-head.ts';
import {
  clientCertificateError,
  createTlsServer,
  followTlsSockets,
  type ListenerTls,
} from './tls-listener.ts';

export interface AppOptions extends ProbeOptions {
  readonly log: Logger;
  /** Without it, no token is required and every caller is `peer`: for loopback only. */
  readonly authenticate?: Authenticator | undefined;
  /** Each request but the probes gets a span; absent where traces are off. */
  readonly tracing?: Tracing | undefined;
  /** The hosts of this service's addresses, beside loopback and the address that it listens on. */
  readonly hosts?: readonly string[];
  /** The listener serves https; absent for plain http. */
  readonly tls?: ListenerTls | undefined;
  readonly connections?: ConnectionLimits;
  /** Default: 1 MiB. */
  readonly bodyLimitBytes?: number;
  /** The maximum time to receive a request, head and body; default: 30 s. A handler may take longer. */
  readonly requestTimeoutMs?: number;
  /** The maximum time that `app.close()` waits for pending replies before it closes their connections; default: 5 s. */
  readonly closeGraceMs?: number;
  readonly ids?: Ids;
}

/** The maximum time without a byte of a reply; streams and long replies send heartbeats. */
const IDLE_TIMEOUT_MS = 300_000;

/** The time that an idle connection of a caller stays open. */
const KEEP_ALIVE_MS = 72_000;

/** The maximum length of an id in a path, decoded; that of ids in A2A messages. */
const MAX_PARAM_LENGTH = 256;

const ANONYMOUS: Caller = { name: 'anonymous', scopes: new Set() };
const PEER: Caller = { name: 'peer', scopes: new Set(PEER_SCOPES) };

/**
 * The HTTP application that every process shares (docs/operations.md); it does not listen. Every route requires a token
 * unless its config has `public: true`, and judges it itself with `authenticate`. The token is checked before the body is read, and the handler finds
 * `request.caller`. Without an authenticator, requests of foreign web pages are refused instead; see `hosts`. A body is JSON
 * of at most 100 levels (`takeJson`). The body of an error is `{error: {code, message, fields}}`, its status is the catalogue's.
 *
 * A plugin for another protocol registers in its own scope (`app.register(async (scope) => ...)`) and sets its error
 * handler and content type parsers there. They override the default ones, also for 401, 408, 413 and 415:
 *
 *     takeJsonAsText(scope); // the handler checks the nesting of what it parses: checkNesting
 *     scope.setErrorHandler((thrown, request, reply) => {
 *       const error = translateError(thrown, request, reply); // status, headers and log line
 *       return reply.send(inItsOwnFormat(error)); // after reply.code(200), if the protocol requires it
 *     });
 *
 * Bytes that are not a request (garbage, incomplete headers) and unknown addresses always get the default errors.
 */
export function createApp(options: AppOptions): FastifyInstance {
  const { name, log, authenticate, metrics, tracing, ids = systemIds, requestTimeoutMs = 30_000 } = options;
  const loggerInstance: FastifyBaseLogger = log;
  const clientErrors = createClientErrors({
    requestTimeoutMs,
    onRejected: ({ httpStatus: status, code, message: reason }) => {
      metrics.add('fleet_http_requests_total', { method: '', route: 'unparsed', status: String(status) });
      log.info({ status, code, reason }, 'connection refused');
    },
  });
  const http = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: Math.min(requestTimeoutMs, 15_000),
    connectionsCheckingInterval: Math.max(50, Math.min(requestTimeoutMs / 4, 5_000)),
  };
  const { tls } = options;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    childLoggerFactory: (base, bindings, own) =>
      new RequestLog(own.level || own.serializers ? base.child({}, own) : base, bindings),
    genReqId: (request) => requestId(request.headers['x-request-id'], ids),
    trustProxy: false,
    bodyLimit: options.bodyLimitBytes ?? 1_048_576,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    http,
    ...(tls && { serverFactory: tlsServer(tls, http) }),
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
    clientErrorHandler: clientErrors.handle,
    frameworkErrors: (thrown, request, reply) => {
      begin(request, reply, request.routeOptions.url);
      const error = translateError(thrown, request, reply);
      const body = JSON.stringify(errorBody(error));
      sendHead(reply, error.httpStatus, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(Buffer.byteLength(body)),
      });
      reply.raw.end(body);
    },
  });
  const tcpSocket = followTlsSockets(app.server);
  clientErrors.watch(app.server, tcpSocket);
  const connections = limitConnections(
    app.server,
    options.connections ?? {},
    (count) => log.warn({ count }, 'connections gave way to new ones: there were too many'),
    tcpSocket,
  );
  const keepAlive = `timeout=${Math.floor(connections.unauthenticatedIdleMs / 1000)}`;
  takeJson(app);
  decorate(app);

  const allowedMethods = createAllowedMethods();
  const foreignRequest = createForeignRequest(options.hosts ?? []);
  /** The paths that check the host although they require a token. */
  const ownHostPaths = new Set<string>();
  app.addHook('onRoute', ({ url, method, config }) => {
    allowedMethods.add(url, method);
    if (config?.ownHostsOnly) ownHostPaths.add(url);
  });
  let isClosing = false;
  closeWithin(app, options.closeGraceMs ?? 5_000, () => {
    isClosing = true;
  });

  /** Begins a request: its trace, its log line, and how long a connection without authentication may be silent. */
  const begin = (request: FastifyRequest, reply: FastifyReply, route: string | undefined): void => {
    observe(request, reply, metrics, route, tracing);
    if (!connections.isAuthenticated(request.raw.socket)) reply.header('keep-alive', keepAlive);
  };
  /** Counts the request's connection as authenticated: from now on it may be silent. */
  const keep = (request: FastifyRequest, reply: FastifyReply): void => {
    if (connections.isAuthenticated(request.raw.socket)) return;
    connections.authenticated(request.raw.socket);
    reply.removeHeader('keep-alive');
  };
  const callerOf = (request: FastifyRequest): Caller => {
    const { config } = request.routeOptions;
    if (config.authenticate) return config.authenticate(request);
    return authenticate ? authenticate(request.headers.authorization) : PEER;
  };
  const admit = (request: FastifyRequest, reply: FastifyReply): void => {
    request.caller = ANONYMOUS;
    // Fastify makes the options anew each time.
    const { config, url: route } = request.routeOptions;
    begin(request, reply, route);
    if (isClosing)
      throw new FleetError('SHUTTING_DOWN', `${name} is stopping; try again`, { retryAfterS: 1 });
    if (tls && config.withoutCertificate !== true) {
      const refused = clientCertificateError(name, tls.clientCert, request.raw.socket);
      if (refused) throw refused;
    }
    const path = pathOf(request);
    if (authenticate === undefined || ownHostPaths.has(route ?? path)) {
      const foreign = foreignRequest(request.raw);
      if (foreign !== undefined && config.anyHost !== true) {
        // The trader's audit names the caller of a refused request.
        request.caller = callerIfKnown(authenticate, request.headers.authorization);
        throw foreign;
      }
      if (foreign === undefined && authenticate === undefined) keep(request, reply);
    }
    if (route === undefined) {
      const methods = allowedMethods.of(path);
      if (methods.length > 0) {
        reply.header('allow', methods.join(', '));
        const message = `${request.method} is not allowed here; use ${methods.join(' or ')}`;
        throw new FleetError('METHOD_NOT_ALLOWED', message);
      }
      throw new FleetError('NOT_FOUND', 'there is nothing at this address');
    }
    if (config.public === true) {
      if (!isAnonymous(callerIfKnown(authenticate, request.headers.authorization))) keep(request, reply);
    } else {
      request.caller = callerOf(request);
      keep(request, reply);
      if (config.longBody === true) clientErrors.allowTime(request.raw);
      addLogField(request, 'caller', request.caller.name);
      cutOffWhenEnded(request, reply);
    }
  };
  // Hooks with a callback cost no promise. What `admit` throws becomes the error of the request.
  app.addHook('onRequest', (request, reply, done) => {
    admit(request, reply);
    done();
  });
  // A client that is still sending would lose the reply if the connection closed now; observe() closes it later.
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (isSending(request.raw) && reply.raw.getHeader('connection') !== 'close')
      reply.removeHeader('connection');
    done();
  });
  app.setErrorHandler((thrown, request, reply) =>
    reply.send(errorBody(translateError(thrown, request, reply))),
  );
  registerProbes(app, options);
  return app;
}

/** Closes the connection of an open request when its caller is none any more: a stream must not go on. */
function cutOffWhenEnded({ caller: { ended }, raw }: FastifyRequest, reply: FastifyReply): void {
  if (!ended) return;
  const cut = (): void => void raw.socket.destroy();
  ended.addEventListener('abort', cut, { once: true });
  reply.raw.once('close', () => ended.removeEventListener('abort', cut));
}

function callerIfKnown(authenticate: Authenticator | undefined, authorization: string | undefined): Caller {
  try {
    return authenticate?.(authorization) ?? ANONYMOUS;
  } catch {
    return ANONYMOUS;
  }
}

/** True for the caller of a public route, and of a request that was refused before its caller was known. */
export const isAnonymous = (caller: Caller): boolean => caller === ANONYMOUS;

/** True while a client sends a body. A request without one is not complete either when it is answered at once. */
function isSending({ complete, headers }: FastifyRequest['raw']): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

const tlsServer =
  (tls: ListenerTls, http: ServerOptions) =>
  (handler: RequestListener): Server =>
    createTlsServer(tls, { ...http, keepAliveTimeout: KEEP_ALIVE_MS }, handler).setTimeout(IDLE_TIMEOUT_MS);

/** Bounds `app.close()`: closes idle connections at once, and busy ones after `graceMs`. */
function closeWithin(app: FastifyInstance, graceMs: number, onClosing: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    onClosing();
    timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
  });
  app.addHook('onClose', async () => clearTimeout(timer));
}
