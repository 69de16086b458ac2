export interface SentEvent {
  readonly seq: number;
  acknowledged: boolean;
}

/**
 * The events in flight, in order. Acknowledgements may arrive in any order; the cursor may advance only over a contiguous
 * run of them.
 */
export class InFlight {
  readonly #sent: SentEvent[] = [];
  #unacknowledged = 0;

  /** The number of events from the oldest unacknowledged one to the newest. */
  get size(): number {
    return this.#sent.length;
  }

  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  send(seq: number): SentEvent {
    const sent = { seq, acknowledged: false };
    this.#sent.push(sent);
    this.#unacknowledged += 1;
    return sent;
  }

  /** Returns the new end of the contiguous run and the number of events that joined it; undefined when it did not grow. */
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
