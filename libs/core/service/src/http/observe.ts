import type { Ids, Span, Tracing } from '@hermes-fleet/protocol/ports';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ProcessMetrics } from '../metrics/metrics.ts';
import './request.ts';
import { RequestLog } from './request-log.ts';
import { continueTrace, traceOf } from './trace.ts';

/** Routes that are requested every few seconds are logged at debug. */
const PROBES = new Set(['/health', '/ready', '/metrics']);

/** The time for a client to finish sending a discarded body, after which it reads the reply. */
const LINGER_MS = 2_000;

/** The incoming `x-request-id` if it is a plain word, else a new id. */
export function requestId(incoming: string | string[] | undefined, ids: Ids): string {
  return typeof incoming === 'string' && /^[\w.:-]{1,128}$/.test(incoming) ? incoming : ids.uuid();
}

/**
 * Adds id and trace to the headers and to the logs of a request. When the reply ends or the client disconnects, writes
 * the request's log line and counts the request. `route` is the pattern of the route. Code that takes the reply over from
 * Fastify sends the headers of `reply.getHeaders()`.
 */
export function observe(
  request: FastifyRequest,
  reply: FastifyReply,
  metrics: ProcessMetrics,
  route = 'unmatched',
  tracing?: Tracing,
): void {
  const incoming = request.headers.traceparent;
  const parent = typeof incoming === 'string' ? incoming : undefined;
  const span = tracing && !PROBES.has(route) ? startSpan(tracing, request, route, parent) : undefined;
  request.span = span;
  request.trace = span ? traceOf(span) : continueTrace(parent);
  // Node writes the headers of `reply.raw` by a slower way, which copies all others into them.
  reply.header('x-request-id', request.id);
  reply.header('traceparent', request.trace.traceparent);
  addLogField(request, 'trace_id', request.trace.traceId);
  const started = performance.now();
  const end = (): void => {
    const seconds = (performance.now() - started) / 1000;
    const aborted = !reply.raw.writableFinished;
    const status = aborted && !reply.raw.headersSent ? 499 : reply.statusCode;
    const { method } = request;
    metrics.add('fleet_http_requests_total', { method, route, status: String(status) });
    metrics.observe('fleet_http_request_duration_seconds', { method, route }, seconds);
    logEnd(request, { route, status, seconds, aborted });
    if (span) endSpan(span, request, status);
    if (!request.raw.complete) linger(request);
  };
  // Node emits it once for every reply: right after `finish`, or when the client disconnects before.
  reply.raw.on('close', end);
}

/** Attributes: semantic conventions of OpenTelemetry for HTTP servers. */
function startSpan(
  tracing: Tracing,
  { method }: FastifyRequest,
  route: string,
  parent: string | undefined,
): Span {
  const attributes = { 'http.request.method': method, 'http.route': route };
  return tracing.start(`${method} ${route}`, { kind: 'server', parent, attributes });
}

function endSpan(span: Span, { failure, caller }: FastifyRequest, status: number): void {
  const code = failure?.code;
  span.set({ 'http.response.status_code': status, 'hermes.caller': caller?.name, 'error.type': code });
  // A refusal is the caller's error.
  span.end(Math.max(status, failure?.httpStatus ?? 0) >= 500 ? (code ?? String(status)) : undefined);
}

/** The path of a request's URL, as it was sent. */
export function pathOf({ url }: FastifyRequest): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Adds a field to all later log lines of a request. */
export function addLogField(request: FastifyRequest, name: string, value: string): void {
  logOf(request).add(name, value);
}

/** The log that `createApp` gives to every request. */
function logOf({ log }: FastifyRequest): RequestLog {
  if (log instanceof RequestLog) return log;
  throw new TypeError('the log of a request was replaced');
}

/** Discards the rest of a body after an early reply, for a bounded time. */
function linger(request: FastifyRequest): void {
  const { raw } = request;
  if (raw.destroyed) return;
  const timer = setTimeout(() => {
    if (!raw.complete) raw.socket.destroy();
  }, LINGER_MS);
  raw.once('close', () => clearTimeout(timer));
}

function logEnd(
  request: FastifyRequest,
  end: { route: string; status: number; seconds: number; aborted: boolean },
): void {
  const { failure } = request;
  const line = {
    method: request.method,
    route: end.route,
    path: pathOf(request).slice(0, 200),
    status: end.status,
    duration_ms: Math.round(end.seconds * 1e6) / 1e3,
    aborted: end.aborted || undefined,
    code: failure?.code,
  };
  const log = logOf(request);
  const severity = Math.max(end.status, failure?.httpStatus ?? 0);
  if (PROBES.has(end.route) && severity !== 500) log.line('debug', line, 'request');
  else if (severity >= 500) log.line('error', { ...line, err: failure }, 'request failed');
  else if (failure) log.line('info', { ...line, reason: failure.message }, 'request refused');
  else log.line('info', line, 'request');
}

/** Declares the request's properties of `request.ts`. */
export function decorate(app: FastifyInstance): void {
  app.decorateRequest('caller');
  app.decorateRequest('trace');
  app.decorateRequest('span');
  app.decorateRequest('failure');
}
