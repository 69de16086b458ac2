import { FleetError } from '@hermes-fleet/protocol';

/**
 * Opens a member's listener, at the one address that its fleet.yaml names. BIND_FAILED, with the address and the reason,
 * when it cannot: that ends the process (design 1, Process roles).
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
