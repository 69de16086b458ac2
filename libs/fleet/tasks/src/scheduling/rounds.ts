import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';

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
  readonly #start = (): void => void this.#run();
  readonly #yieldIfLong = (): Promise<void> | undefined =>
    this.#options.clock.monotonic() - this.#turnBeganAt < MAX_TURN_MS ? undefined : this.#yield();
  #isRequested = false;
  #isRunning = false;
  #isStopped = false;
  /** On the monotonic clock, ms. */
  #turnBeganAt = 0;
  /** The time that the turns of the current round have taken. */
  #spentMs = 0;
  #alarm: Disposable | undefined;

  constructor(options: RoundsOptions) {
    this.#options = options;
  }

  request(): void {
    this.#isRequested = true;
    if (this.#isRunning || this.#isStopped || !this.#options.hasWork()) return;
    this.#isRunning = true;
    queueMicrotask(this.#start);
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
      this.#turnBeganAt = clock.monotonic();
      this.#spentMs = 0;
      try {
        await round(this.#yieldIfLong);
      } catch (error) {
        onError(error);
      }
      this.#endTurn();
      // Rounds take at most half of the time.
      if (this.#spentMs > MAX_TURN_MS) await clock.sleep(Math.min(this.#spentMs, MAX_PAUSE_MS));
    }
    this.#isRunning = false;
    if (this.#isStopped || !hasWork()) return;
    const dueInMs = Math.min(LONGEST_PAUSE_MS, Math.max(1, this.#options.dueInMs()));
    this.#alarm = clock.timer(() => this.request(), dueInMs);
  }

  #endTurn(): void {
    this.#spentMs += this.#options.clock.monotonic() - this.#turnBeganAt;
  }

  async #yield(): Promise<void> {
    this.#endTurn();
    await yieldToEventLoop();
    this.#turnBeganAt = this.#options.clock.monotonic();
  }
}
