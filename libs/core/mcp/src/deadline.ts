import type { Clock } from '@hermes-fleet/protocol/ports';

/** The abort reason of an expired deadline. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';

  constructor(timeoutMs: number) {
    super(`timeout after ${timeoutMs} ms`);
  }
}

/** A signal that aborts after `timeoutMs` with a TimeoutError, or with `parent`; dispose it when the work is done. */
export function deadline(
  clock: Clock,
  timeoutMs: number,
  parent?: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const onParent = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) onParent();
  parent?.addEventListener('abort', onParent, { once: true });
  const timer = clock.timer(() => controller.abort(new TimeoutError(timeoutMs)), timeoutMs);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      parent?.removeEventListener('abort', onParent);
    },
  };
}
