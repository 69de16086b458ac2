import { FleetError } from '@hermes-fleet/protocol';

/** Connections that the system keeps until the process accepts them; systems cut it to their own maximum. */
const BACKLOG = 4_096;

/**
 * Opens a member's only listener, at the address in its fleet.yaml. `localhost` is 127.0.0.1: for that name, Fastify would
 * open a second listener on [::1], without the limits of the first one. Throws BIND_FAILED with address and reason, which
 * ends the process.
 */
export async function listen(
  app: { listen(at: { host: string; port: number; backlog: number }): PromiseLike<unknown> },
  name: string,
  { bind_host: host, bind_port: port }: { readonly bind_host: string; readonly bind_port: number },
): Promise<void> {
  try {
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port, backlog: BACKLOG });
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = isTaken ? 'another process listens there' : String(cause);
    throw new FleetError('BIND_FAILED', `${name} cannot listen on ${host}:${port}: ${reason}`, { cause });
  }
}
