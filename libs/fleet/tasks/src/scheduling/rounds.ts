import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** A round yields to the event loop after this time, ms. */
const MAX_TURN_MS = 10;
/** The longest pause after a round that took long, ms. */
const MAX_PAUSE_MS = 250;
/** The longest time between two rounds while there is work, ms. */
const LONGEST_PAUSE_MS = 30_000;

interface RoundsOptions {
  readonly clock: Clock;
  /** True if there is anything to do in a round. */
  readonly hasWork: () => boolean;
  /** Does one round. It calls `yieldIfLong` between its steps, which yields to the event loop after a long turn. */
  readonly round: (yieldIfLong: () => Promise<void> | undefined) => Promise<void>;
  /** The time until the next round is due without a request, ms. */
  readonly dueInMs: () => number;
  /** Is called with the error of a round. Later rounds run all the same. */
  readonly onError: (error: unknown) => void;
}

/** Runs rounds one after another: after a request, and when one is due. Requests during a round lead to one more. */
export function createRounds({ clock, hasWork, round, dueInMs, onError }: RoundsOptions) {
  let isRequested = false;
  let isRunning = false;
  let isStopped = false;
  /** On the monotonic clock, ms. */
  let turnBeganAt = 0;
  /** The time that the turns of the current round have taken. */
  let spentMs = 0;
  let alarm: Disposable | undefined;

  function request(): void {
    isRequested = true;
    if (isRunning || isStopped || !hasWork()) return;
    isRunning = true;
    queueMicrotask(() => void run());
  }

  async function run(): Promise<void> {
    alarm?.[Symbol.dispose]();
    while (isRequested && !isStopped && hasWork()) {
      isRequested = false;
      turnBeganAt = clock.monotonic();
      spentMs = 0;
      try {
        await round(yieldIfLong);
      } catch (error) {
        onError(error);
      }
      endTurn();
      // Rounds take at most half of the time.
      if (spentMs > MAX_TURN_MS) await clock.sleep(Math.min(spentMs, MAX_PAUSE_MS));
    }
    isRunning = false;
    if (!isStopped && hasWork())
      alarm = clock.timer(request, Math.min(LONGEST_PAUSE_MS, Math.max(1, dueInMs())));
  }

  function endTurn(): void {
    spentMs += clock.monotonic() - turnBeganAt;
  }

  function yieldIfLong(): Promise<void> | undefined {
    return clock.monotonic() - turnBeganAt < MAX_TURN_MS ? undefined : yieldTurn();
  }

  async function yieldTurn(): Promise<void> {
    endTurn();
    await yieldToEventLoop();
    turnBeganAt = clock.monotonic();
  }

  return {
    request,
    stop(): void {
      isStopped = true;
      alarm?.[Symbol.dispose]();
    },
  };
}
