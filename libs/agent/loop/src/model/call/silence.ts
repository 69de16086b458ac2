import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Deadlines } from '../provider/provider-fetch.ts';

/** An answer did not begin, or did not go on, in time. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/** MODEL_FAILED that names the limit. */
export const silenceFailure = (silence: SilenceError): FleetError =>
  new FleetError('MODEL_FAILED', `the model's provider ${silence.message}`, {
    retryable: true,
    cause: silence,
  });

/**
 * Watches the deadlines of an answer: for its first token, and between two parts, which `heard` tells of. `signal` aborts
 * with a SilenceError. Runs until it is disposed of.
 */
export function watchSilence(clock: Clock, { firstTokenMs, idleMs }: Deadlines) {
  const noToken = `sent no token within ${firstTokenMs / 1000} s (model_calls.first_token_s)`;
  const noMore = `sent nothing more for ${idleMs / 1000} s (model_calls.idle_s)`;
  const controller = new AbortController();
  let heardAt: number | undefined;
  let timer = clock.timer(check, firstTokenMs);

  function check(): void {
    const leftMs = heardAt === undefined ? 0 : heardAt + idleMs - clock.monotonic();
    // Timers are not armed at every part, which would cost more than this.
    if (leftMs > 0) timer = clock.timer(check, leftMs);
    else controller.abort(new SilenceError(heardAt === undefined ? noToken : noMore));
  }

  return {
    signal: controller.signal,
    heard(): void {
      const isFirst = heardAt === undefined;
      heardAt = clock.monotonic();
      if (!isFirst) return;
      timer[Symbol.dispose]();
      timer = clock.timer(check, idleMs);
    },
    [Symbol.dispose]: (): void => timer[Symbol.dispose](),
  };
}
