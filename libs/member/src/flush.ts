import type { Relay } from '@hermes-fleet/events';
import type { Log } from '@hermes-fleet/protocol';

const FLUSH_MS = 2_000;

/** The last events on their way, as far as the bus takes them now, and the connections closed. */
export async function flushAndClose(
  relays: readonly (Pick<Relay, 'flush' | 'close'> | undefined)[],
  log: Log,
): Promise<void> {
  const open = relays.filter((relay) => relay !== undefined);
  const flushed = await Promise.all(open.map((relay) => relay.flush(FLUSH_MS)));
  if (flushed.includes(false)) log.warn({}, 'events are left in the outbox for the next start');
  await Promise.all(open.map((relay) => relay.close()));
}
