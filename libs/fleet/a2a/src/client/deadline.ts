import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { type Called, timedOut, unreachable } from './peer-errors.ts';

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Restarts the timer. */
  touch(): void;
  /**
   * Runs a part of the request. Converts its failures to catalogue errors: PEER_UNREACHABLE where the time ran out or the network
   * failed, and the reason of the caller's own signal.
   */
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** A signal that aborts after `ms` or with the caller's own; disposing it clears the timer. */
export function createDeadline(
  clock: Clock,
  called: Called,
  ms: number,
  outer: AbortSignal | undefined,
): Deadline {
  const controller = new AbortController();
  let expired = false;
  const start = (): Disposable =>
    clock.timer(() => {
      expired = true;
      controller.abort(new Error(`nothing arrived for ${ms} ms`));
    }, ms);
  const onOuter = (): void => controller.abort(outer?.reason);
  if (outer?.aborted) onOuter();
  outer?.addEventListener('abort', onOuter, { once: true });
  let timer = start();
  return {
    signal: controller.signal,
    touch: () => {
      timer[Symbol.dispose]();
      timer = start();
    },
    async during(work) {
      try {
        return await work();
      } catch (thrown) {
        if (expired) throw timedOut(called, ms);
        if (outer?.aborted) throw outer.reason;
        if (thrown instanceof FleetError) throw thrown;
        throw unreachable(called, thrown);
      }
    },
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      outer?.removeEventListener('abort', onOuter);
    },
  };
}
