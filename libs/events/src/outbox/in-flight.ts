/** One event that was sent and whose acknowledgement is awaited. */
export interface SentEvent {
  readonly seq: number;
  acknowledged: boolean;
}

/**
 * The events on their way, in order. Acknowledgements may come in any order; the cursor may move only over an
 * unbroken run of them.
 */
export class InFlight {
  readonly #sent: SentEvent[] = [];
  #unacknowledged = 0;

  /** From the oldest unacknowledged event to the newest sent one. */
  get size(): number {
    return this.#sent.length;
  }

  /** How many events wait for their acknowledgement. */
  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  send(seq: number): SentEvent {
    const sent = { seq, acknowledged: false };
    this.#sent.push(sent);
    this.#unacknowledged += 1;
    return sent;
  }

  /** Returns how far the unbroken run grew: its new last sequence and how many events joined it. */
  acknowledge(sent: SentEvent): { readonly upTo: number; readonly count: number } | undefined {
    if (sent.acknowledged) return undefined;
    sent.acknowledged = true;
    this.#unacknowledged -= 1;
    const pending = this.#sent.findIndex((entry) => !entry.acknowledged);
    const run = this.#sent.splice(0, pending === -1 ? this.#sent.length : pending);
    const newest = run.at(-1);
    return newest === undefined ? undefined : { upTo: newest.seq, count: run.length };
  }
}
