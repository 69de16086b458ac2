import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { Patience } from './patience.ts';

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

export interface SilenceWatch extends Disposable {
  /** Aborts with a SilenceError. */
  readonly signal: AbortSignal;
  /** A part of the answer has arrived. */
  heard(): void;
}

/** Watches the deadlines of an answer: for its first token, and between two parts. Runs until it is disposed of. */
export function watchSilence(clock: Clock, { firstTokenMs, idleMs }: Patience): SilenceWatch {
  const controller = new AbortController();
  let heardAt: number | undefined;
  let timer = clock.timer(check, firstTokenMs);

  function check(): void {
    const leftMs = heardAt === undefined ? 0 : heardAt + idleMs - clock.monotonic();
    // Timers are not armed at every part, which would cost more than this.
    if (leftMs > 0) timer = clock.timer(check, leftMs);
    else controller.abort(new SilenceError(silenceOf(heardAt === undefined, firstTokenMs, idleMs)));
  }

  return {
    signal: controller.signal,
    heard() {
      const isFirst = heardAt === undefined;
      heardAt = clock.monotonic();
      if (!isFirst) return;
      timer[Symbol.dispose]();
      timer = clock.timer(check, idleMs);
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}

const silenceOf = (isFirst: boolean, firstTokenMs: number, idleMs: number): string =>
  isFirst
    ? `sent no token within ${firstTokenMs / 1000} s (model_calls.first_token_s)`
    : `sent nothing more for ${idleMs / 1000} s (model_calls.idle_s)`;
