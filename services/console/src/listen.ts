import { FleetError } from '@hermes-fleet/protocol';

/** Opens the listener of the console. Throws BIND_FAILED with address and reason. */
export async function listen(
  app: { listen(at: { host: string; port: number }): PromiseLike<unknown> },
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  try {
    await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  } catch (cause) {
    const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
    const reason = isTaken ? 'another process listens there' : String(cause);
    throw new FleetError('BIND_FAILED', `the console cannot listen on ${host}:${port}: ${reason}`, { cause });
  }
}
