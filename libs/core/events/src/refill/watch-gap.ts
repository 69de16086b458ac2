import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { NatsError } from 'nats';
import { reasonOf } from '../connection/connection.ts';
import { findGap, type GapOptions, mayLackEvents } from './stream-gap.ts';

const AGAIN_MS = 60_000;
/** After a comparison that failed, as where the stream has not been made yet. */
const RETRY_MS = 5_000;

export interface WatchGapOptions extends GapOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The number of the newest event of the store that the stream holds; 0 for none. */
  readonly lastStored: () => Promise<number>;
  /** Is called with the number of acknowledged events that the stream lacks, at each comparison. */
  readonly onMissing: (count: number) => void;
}

/**
 * Compares the stream with what it has acknowledged, once for a connection, and again every minute while it lacks events.
 * A comparison that fails is made again after 5 s.
 * Never rejects: publishing goes on whatever is found.
 */
export async function watchGap(options: WatchGapOptions): Promise<void> {
  const { clock, log, signal } = options;
  let reported = 0;
  let failure = '';
  for (;;) {
    let pause = AGAIN_MS;
    try {
      const found = (await mayLackEvents(options, await options.lastStored())) && (await findGap(options));
      const count = found ? found.missing.length : 0;
      options.onMissing(count);
      if (found && count > 0 && count !== reported)
        log.warn(
          { missing: count, acknowledged: found.acknowledged, stream_created: found.created },
          `the event stream lacks ${count} events that it had acknowledged: fleet nats refill publishes them again`,
        );
      reported = count;
      if (count === 0) return;
    } catch (error) {
      if (signal.aborted) return;
      const isForbidden = error instanceof NatsError && error.code === 'PERMISSIONS_VIOLATION';
      const reason = reasonOf(error);
      if (isForbidden) {
        log.warn(
          { reason },
          'whether the event stream lacks events is not known: NATS has the permissions of an older version; fleet keys init writes those of this one',
        );
        return;
      }
      if (reason !== failure)
        log.info({ reason }, 'the event stream could not be compared with the outbox; trying again');
      failure = reason;
      pause = RETRY_MS;
    }
    await clock.sleep(pause, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}
