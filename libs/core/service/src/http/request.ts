import type { FleetError } from '@hermes-fleet/protocol';
import type { Caller, Span } from '@hermes-fleet/protocol/ports';
import type { Trace } from './trace.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route requires no token. */
    public?: boolean;
    /** Judges who calls instead of the service's callers. Throws what it answers to anybody else. */
    authenticate?: (request: FastifyRequest) => Caller;
    /** A body may take longer than other requests. The route reads it as a stream, and bounds its time and size. */
    longBody?: boolean;
    /** Clients without a certificate are answered even where one is required. */
    withoutCertificate?: boolean;
    /** Requests of foreign web pages are refused even if they have a token. */
    ownHostsOnly?: boolean;
    /** Requests with any Host and Origin are answered even if no token is required anywhere. */
    anyHost?: boolean;
  }
  interface FastifyRequest {
    /** The owner of the token; `peer` if no token is required; `anonymous`, without scopes, on public routes. */
    caller: Caller;
    trace: Trace;
    /** The span of the request; undefined for probes, and where traces are off. */
    span: Span | undefined;
    /** The error for the log line; set by translateError. */
    failure: FleetError | undefined;
  }
}
