import type { Clock } from '@hermes-fleet/protocol/ports';

export interface MeasuredCall {
  /** `canceled`: the task was canceled, or its side ended the answer at a limit. */
  readonly outcome: 'ok' | 'error' | 'canceled';
  readonly seconds: number;
  /** From the request to the first token of any kind; undefined when none came. */
  readonly firstTokenSeconds: number | undefined;
}

export interface CallMeasurement {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called when a call has ended. It must not throw. */
  readonly onCall: (call: MeasuredCall) => void;
}

/** Times a call from now on. */
export function timeCall({ clock, onCall }: CallMeasurement) {
  const startedAt = clock.monotonic();
  const elapsed = (): number => (clock.monotonic() - startedAt) / 1000;
  let firstTokenSeconds: number | undefined;
  return {
    heard(): void {
      firstTokenSeconds ??= elapsed();
    },
    /** Reports the call, which `signal` may have canceled. */
    ended(isFinished: boolean, signal: AbortSignal | undefined): void {
      const unfinished = signal?.aborted ? 'canceled' : 'error';
      onCall({ outcome: isFinished ? 'ok' : unfinished, seconds: elapsed(), firstTokenSeconds });
    },
  };
}
