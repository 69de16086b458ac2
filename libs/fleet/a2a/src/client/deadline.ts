import type { Clock } from '@hermes-fleet/protocol/ports';

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** True when the time ran out, false when the caller's own signal aborted. */
  readonly expired: boolean;
  /** Restarts the timer. */
  touch(): void;
}

/** A signal that aborts after `ms` or with the caller's own; disposing it clears the timer. */
export function createDeadline(clock: Clock, ms: number, outer: AbortSignal | undefined): Deadline {
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
    get expired() {
      return expired;
    },
    touch: () => {
      timer[Symbol.dispose]();
      timer = start();
    },
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      outer?.removeEventListener('abort', onOuter);
    },
  };
}
