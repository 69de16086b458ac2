import { backoffMs, type Clock, FleetError, type Log } from '@hermes-fleet/protocol';

const PAUSE = { firstMs: 100, longestMs: 5_000, random: Math.random };

/**
 * Writes what must not get lost, again and again while the store is unavailable (a full disk, a busy file), until it
 * succeeds or `signal` aborts; then, and for any other failure, it throws what the store threw.
 */
export async function persist<T>(
  o: { readonly clock: Clock; readonly log: Log; readonly taskId: string; readonly signal: AbortSignal },
  write: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await write();
    } catch (error) {
      const again = error instanceof FleetError && error.code === 'STORE_UNAVAILABLE' && !o.signal.aborted;
      if (!again) throw error;
      o.log.warn({ task_id: o.taskId, err: error, failures }, 'ledger not writable: trying again');
      await o.clock.sleep(backoffMs(failures, PAUSE), o.signal).catch(() => undefined);
    }
  }
}
