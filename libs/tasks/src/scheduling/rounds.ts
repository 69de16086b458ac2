import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol';

/** A round yields to the event loop after this time, ms. */
const MAX_TURN_MS = 10;
/** The longest pause after a round that took long, ms. */
const MAX_PAUSE_MS = 250;
/** The longest time between two rounds while there is work, ms. */
const LONGEST_PAUSE_MS = 30_000;

export interface RoundsOptions {
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
export class Rounds {
  readonly #options: RoundsOptions;
  #isRequested = false;
  #isRunning = false;
  #isStopped = false;
  #alarm: Disposable | undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  request(): void {
    this.#isRequested = true;
    if (this.#isRunning || this.#isStopped || !this.#options.hasWork()) return;
    this.#isRunning = true;
    queueMicrotask(() => void this.#run());
  }

  stop(): void {
    this.#isStopped = true;
    this.#alarm?.[Symbol.dispose]();
  }

  async #run(): Promise<void> {
    const { clock, hasWork, round, onError } = this.#options;
    this.#alarm?.[Symbol.dispose]();
    while (this.#isRequested && !this.#isStopped && hasWork()) {
      this.#isRequested = false;
      let from = clock.monotonic();
      let spentMs = 0;
      const endTurn = (): void => {
        spentMs += clock.monotonic() - from;
      };
      const yieldNow = async (): Promise<void> => {
        endTurn();
        await yieldToEventLoop();
        from = clock.monotonic();
      };
      try {
        await round(() => (clock.monotonic() - from < MAX_TURN_MS ? undefined : yieldNow()));
      } catch (error) {
        onError(error);
      }
      endTurn();
      // Rounds take at most half of the time.
      if (spentMs > MAX_TURN_MS) await clock.sleep(Math.min(spentMs, MAX_PAUSE_MS));
    }
    this.#isRunning = false;
    if (this.#isStopped || !hasWork()) return;
    const dueInMs = Math.min(LONGEST_PAUSE_MS, Math.max(1, this.#options.dueInMs()));
    this.#alarm = clock.timer(() => this.request(), dueInMs);
  }
}
