import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Classes } from './classes.ts';
import type { TaskEntry } from './entry.ts';

/** The pause after a renewal is so many times as long as the renewal. */
const PAUSE = 9;

/**
 * Renews the needs of the tasks whose needs may change. A renewal costs time for each of them, and one is asked for in every
 * round: all of them together take at most a tenth of the time.
 */
export class Renewals {
  readonly #clock: Clock;
  readonly #classes: Classes<TaskEntry>;
  readonly #renew: (entry: TaskEntry) => void;
  /** On the monotonic clock, ms. */
  #pausedUntil = 0;
  /** A round has left out its renewal because of the pause. */
  #isOwed = false;

  constructor(clock: Clock, classes: Classes<TaskEntry>, renew: (entry: TaskEntry) => void) {
    this.#clock = clock;
    this.#classes = classes;
    this.#renew = renew;
  }

  /** Some needs may change, or a renewal is owed. */
  get hasWork(): boolean {
    return this.#isOwed || this.#classes.unsettled.size > 0;
  }

  /** Renews all needs that may have changed, except during the pause. */
  async all(yieldIfLong: () => Promise<void> | undefined): Promise<void> {
    const startedAt = this.#clock.monotonic();
    this.#isOwed = startedAt < this.#pausedUntil && this.#classes.unsettled.size > 0;
    if (this.#isOwed) return;
    for (const entry of this.#classes.renewing()) {
      this.#renew(entry);
      await yieldIfLong();
    }
    const endedAt = this.#clock.monotonic();
    this.#pausedUntil = endedAt + PAUSE * (endedAt - startedAt);
  }

  /** The time until the next renewal is due without a request, ms. */
  dueInMs(): number {
    const changeIn = this.#isOwed ? 0 : this.#classes.needsChangeAt() - this.#clock.now();
    return Math.max(this.#pausedUntil - this.#clock.monotonic(), changeIn);
  }
}
