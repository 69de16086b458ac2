import { FleetError } from '@hermes-fleet/protocol';

/**
 * Opens a member's only listener, at the address in its fleet.yaml. Throws BIND_FAILED with address and reason, which
 * ends the process.
 */
export async function listen(
  app: { listen(at: { host: string; port: number }): PromiseLike<unknown> },
  name: string,
  { bind_host: host, bind_port: port }: { readonly bind_host: string; readonly bind_port: number },
): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = isTaken ? 'another process listens there' : String(cause);
    throw new FleetError('BIND_FAILED', `${name} cannot listen on ${host}:${port}: ${reason}`, { cause });
  }
}
