import type { FleetError } from '@hermes-fleet/protocol';

/** A queued transaction. */
export interface QueuedJob {
  /** Runs the transaction, perhaps again. */
  run(): void;
  /** Makes the last run a failed one. */
  refuse(error: FleetError): void;
  /**
   * Tells the caller how the last run ended. Called once: after COMMIT, or after nothing of it is stored. Throws the error of
   * `onCommitted`; the caller is told nevertheless.
   */
  end(): void;
}

/** A transaction and the promise of its caller. A class, because a store makes one for each write. */
export class Job<T> implements QueuedJob {
  readonly #transaction: () => T;
  readonly #onCommitted: ((value: T) => void) | undefined;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: FleetError) => void;
  #outcome: { readonly value: T } | undefined;
  #error: FleetError | undefined;

  constructor(
    transaction: () => T,
    onCommitted: ((value: T) => void) | undefined,
    resolve: (value: T) => void,
    reject: (error: FleetError) => void,
  ) {
    this.#transaction = transaction;
    this.#onCommitted = onCommitted;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  run(): void {
    this.#error = undefined;
    this.#outcome = { value: this.#transaction() };
  }

  refuse(error: FleetError): void {
    this.#error = error;
  }

  end(): void {
    if (this.#error) this.#reject(this.#error);
    else if (this.#outcome) {
      const { value } = this.#outcome;
      try {
        this.#onCommitted?.(value);
      } finally {
        this.#resolve(value);
      }
    }
  }
}
