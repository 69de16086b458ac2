import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, RunOutcome } from '@hermes-fleet/protocol/ports';

/** The time that an executor has to end after an abort. */
const ABORT_GRACE_MS = 10_000;

/** An abort with its reason. Its signal is created for the first that asks for it: most runs end without one. */
export class Abort {
  #controller: AbortController | undefined;
  #reason: FleetError | undefined;
  #listener: (() => void) | undefined;

  /** The first reason counts. */
  abort(reason: FleetError): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#listener?.();
  }

  /** Undefined until the abort. */
  get reason(): FleetError | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.#reason) throw this.#reason;
  }

  /** Calls the listener at the abort, or at once after it. It replaces the one before; undefined removes it. */
  onAbort(listener: (() => void) | undefined): void {
    this.#listener = listener;
    if (this.#reason) listener?.();
  }
}

export type Settled = { readonly outcome: RunOutcome } | { readonly thrown: unknown };

/** Awaits the executor. If it does not end within the grace period after an abort, the result is an INTERNAL error. */
export function settle(
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
  run: Promise<RunOutcome>,
  abort: Abort,
): Promise<Settled> {
  return new Promise((resolve) => {
    let over: AbortController | undefined;
    const end = (settled: Settled): void => {
      abort.onAbort(undefined);
      resolve(settled);
      over?.abort();
    };
    run.then(
      (outcome) => end({ outcome }),
      (thrown: unknown) => end({ thrown }),
    );
    abort.onAbort(() => {
      over = new AbortController();
      clock.sleep(ABORT_GRACE_MS, AbortSignal.any([over.signal, closing])).then(
        () =>
          resolve({ thrown: new FleetError('INTERNAL', 'the executor did not stop when it was aborted') }),
        () => resolve({ thrown: abort.reason }),
      );
    });
  });
}
