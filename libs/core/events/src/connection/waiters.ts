import type { Clock } from '@hermes-fleet/protocol/ports';

/** Calls that wait for the same outcome. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Set<(outcome: boolean) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Resolves with the next outcome, or with false after `timeoutMs`. */
  async wait(timeoutMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.add(resolve);
    using _limit = this.#clock.timer(() => resolve(false), timeoutMs);
    try {
      return await promise;
    } finally {
      this.#waiting.delete(resolve);
    }
  }

  settle(outcome: boolean): void {
    for (const resolve of this.#waiting) resolve(outcome);
  }
}
