import type { Ledger } from '@hermes-fleet/ledger';
import type { Announcer } from '@hermes-fleet/peers';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { ShutdownStep } from '@hermes-fleet/service';
import type { Gateway } from '../gateway.ts';
import type { Retention } from './retention.ts';

/** The parts of a serving member that its shutdown closes. */
export interface ServingMember {
  readonly log: Log;
  readonly gateway: Pick<Gateway, 'stop'>;
  readonly announcer: Pick<Announcer, 'close'>;
  readonly retention: Retention;
  readonly push: { stop(): Promise<void> };
  readonly a2a: { closeStreams(): Promise<void> };
  readonly app: { close(): PromiseLike<unknown> };
  readonly ledger: Pick<Ledger, 'close'>;
  readonly ownership: Disposable;
}

const DRAIN_POLL_MS = 200;
/** The time in which callers read how their tasks ended: a caller that is not connected may come back, and an open call may need longer. */
const HAND_OVER_MS = { least: 1_000, most: 5_000 };

export interface FinishedParts {
  readonly gateway: Pick<Gateway, 'drain'>;
  /** The streams and the waiting calls of callers. */
  readonly a2a: { openCalls(): number };
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Takes no new task, and waits for at most `drainMs` until all that the member has have ended, and their callers have read
 * how (docs/operations.md#stop-crash-restart).
 */
export async function finishTasks(
  { gateway, a2a, clock, log }: FinishedParts,
  drainMs: number,
): Promise<void> {
  const giveUpAt = clock.monotonic() + drainMs;
  for (;;) {
    const { running, waiting } = gateway.drain();
    if (running + waiting === 0) break;
    if (clock.monotonic() >= giveUpAt) {
      log.warn({ running, waiting }, 'tasks are left for the next start: they did not end in time');
      return;
    }
    await clock.sleep(DRAIN_POLL_MS);
  }
  const endedAt = clock.monotonic();
  const until = (ms: number): number => Math.min(giveUpAt, endedAt + ms);
  for (;;) {
    const now = clock.monotonic();
    if (now >= until(a2a.openCalls() > 0 ? HAND_OVER_MS.most : HAND_OVER_MS.least)) return;
    await clock.sleep(DRAIN_POLL_MS);
  }
}

/** Leaves rotation, says farewell to the peers, and gives running tasks `graceMs` to reach a checkpoint. */
export async function leaveRotation(
  { announcer, retention, gateway }: Pick<ServingMember, 'announcer' | 'retention' | 'gateway'>,
  leave: () => void,
  graceMs: number,
): Promise<void> {
  leave();
  await Promise.all([announcer.close(), retention.close(), gateway.stop(graceMs)]);
}

/** The steps after the tasks have stopped: no client waits any longer, and no new one arrives. */
export function closeConnections({
  push,
  a2a,
  app,
}: Pick<ServingMember, 'push' | 'a2a' | 'app'>): ShutdownStep[] {
  return [
    { name: 'stop push notifications', run: () => push.stop() },
    { name: 'close streams', run: () => a2a.closeStreams() },
    { name: 'close the listener', run: async () => void (await app.close()) },
  ];
}

/** Closes the stores and then releases the ownership of the state directory. */
export async function closeStores(
  stores: readonly { close(): Promise<void> }[],
  ownership: Disposable,
): Promise<void> {
  await Promise.all(stores.map((store) => store.close()));
  ownership[Symbol.dispose]();
}
