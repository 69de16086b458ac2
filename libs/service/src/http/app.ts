import { type Caller, FleetError, type Ids, systemIds } from '@hermes-fleet/protocol';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import type { Logger } from 'pino';
import { type Authenticator, PEER_SCOPES } from '../auth.ts';
import type { FleetMetrics } from '../metrics/metrics.ts';
import { createAllowedMethods } from './allowed-methods.ts';
import { createClientErrors } from './client-errors.ts';
import { errorBody, translateError } from './errors.ts';
import { addLogFields, decorate, observe, requestId } from './observe.ts';
import { type Readiness, registerProbes } from './probes.ts';

export interface AppOptions {
  readonly name: string;
  readonly version: string;
  readonly log: Logger;
  /** Absent: no token is required, everybody is the caller `peer` (for loopback only). */
  readonly authenticate?: Authenticator | undefined;
  readonly metrics: FleetMetrics;
  readonly readiness: () => Readiness;
  /** 1 MiB when absent. */
  readonly bodyLimitBytes?: number;
  /** How long a client may take to send a request, head and body; 30 s when absent. A handler may take longer. */
  readonly requestTimeoutMs?: number;
  /** How long `app.close()` waits for replies under way before it cuts their connections; 5 s when absent. */
  readonly closeGraceMs?: number;
  readonly ids?: Ids;
}

/** A reply that sends no byte for so long is cut; streams and long replies send a heartbeat. */
const SILENCE_MS = 300_000;
const MAX_CONNECTIONS = 4_096;

const ANONYMOUS: Caller = { name: 'anonymous', scopes: new Set() };
const PEER: Caller = { name: 'peer', scopes: new Set(PEER_SCOPES) };

/**
 * The HTTP side that every process shares (design 5, HTTP); it does not listen. Every route needs a token unless its
 * config says `public: true`; that is checked before a byte of the body is read, and the handler finds
 * `request.caller`. Errors are answered as `{error: {code, message, fields}}` with the catalogue's status.
 *
 * A plugin that speaks another protocol registers in a scope of its own (`app.register(async (scope) => ...)`) and there
 * sets its error handler and content type parsers; they win over these, also for 401, 408, 413 and 415:
 *
 *     scope.removeAllContentTypeParsers();
 *     scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => done(null, text));
 *     scope.setErrorHandler((thrown, request, reply) => {
 *       const error = translateError(thrown, request, reply); // status, headers and log line
 *       return reply.send(inItsOwnShape(error)); // after reply.code(200), if the protocol wants that
 *     });
 *
 * Only what never became a request (garbage, headers cut off) and unknown addresses are answered here in any case.
 */
export function createApp(o: AppOptions): FastifyInstance {
  const ids = o.ids ?? systemIds;
  const requestTimeoutMs = o.requestTimeoutMs ?? 30_000;
  const loggerInstance: FastifyBaseLogger = o.log;
  const clientErrors = createClientErrors({
    requestTimeoutMs,
    onRefused: ({ httpStatus: status, code, message: reason }) => {
      o.metrics.httpRequest('', 'unparsed', status, Number.NaN);
      o.log.info({ status, code, reason }, 'connection refused');
    },
  });
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: (request) => requestId(request.headers['x-request-id'], ids),
    trustProxy: false,
    bodyLimit: o.bodyLimitBytes ?? 1_048_576,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: SILENCE_MS,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      requestTimeout: requestTimeoutMs,
      headersTimeout: Math.min(requestTimeoutMs, 15_000),
      connectionsCheckingInterval: Math.max(50, Math.min(requestTimeoutMs / 4, 5_000)),
    },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true } },
    clientErrorHandler: clientErrors.handle,
    frameworkErrors: (thrown, request, reply) => {
      observe(request, reply, { ids, metrics: o.metrics });
      const error = translateError(thrown, request, reply);
      reply.raw.writeHead(error.httpStatus, { 'content-type': 'application/json; charset=utf-8' });
      reply.raw.end(JSON.stringify(errorBody(error)));
    },
  });
  clientErrors.watch(app.server);
  app.server.maxConnections = MAX_CONNECTIONS;
  app.removeContentTypeParser('text/plain');
  decorate(app);

  const allowed = createAllowedMethods();
  app.addHook('onRoute', ({ url, method }) => allowed.add(url, method));
  let closing = false;
  closeWithin(app, o.closeGraceMs ?? 5_000, () => {
    closing = true;
  });

  app.addHook('onRequest', async (request, reply) => {
    request.caller = ANONYMOUS;
    observe(request, reply, { ids, metrics: o.metrics });
    if (closing)
      throw new FleetError('SHUTTING_DOWN', `${o.name} is stopping; try again`, { retryAfterS: 1 });
    if (request.is404) {
      const methods = allowed.of(request.url.split('?', 1)[0] ?? '');
      if (methods.length > 0) {
        reply.header('allow', methods.join(', '));
        const message = `${request.method} is not allowed here; use ${methods.join(' or ')}`;
        throw new FleetError('METHOD_NOT_ALLOWED', message);
      }
      throw new FleetError('NOT_FOUND', 'there is nothing at this address');
    }
    if (request.routeOptions.config.public !== true) {
      request.caller = o.authenticate ? o.authenticate(request.headers.authorization) : PEER;
      addLogFields(request, reply, { caller: request.caller.name });
    }
  });
  // Closing at once would take the reply away from a client that is still sending; observe() closes a bit later.
  app.addHook('onSend', async (request, reply) => {
    if (!request.raw.complete && reply.raw.getHeader('connection') !== 'close')
      reply.removeHeader('connection');
  });
  app.setErrorHandler((thrown, request, reply) =>
    reply.send(errorBody(translateError(thrown, request, reply))),
  );
  registerProbes(app, o);
  return app;
}

/** Bounds `app.close()`: idle connections go at once, busy ones get `graceMs` to finish. */
function closeWithin(app: FastifyInstance, graceMs: number, onClosing: () => void): void {
  let timer: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    onClosing();
    timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
  });
  app.addHook('onClose', async () => clearTimeout(timer));
}
