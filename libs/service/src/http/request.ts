import type { Caller, FleetError } from '@hermes-fleet/protocol';
import type { Trace } from './trace.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that answers without a token. */
    public?: boolean;
  }
  interface FastifyRequest {
    /** Who calls: from the token; `peer` where no token is required; `anonymous`, without scopes, on public routes. */
    caller: Caller;
    /** The trace that this request belongs to. */
    trace: Trace;
    /** What went wrong, for the log line; set by translateError. */
    failure: FleetError | undefined;
  }
}
