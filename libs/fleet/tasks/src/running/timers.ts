import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** The longest single timer. Node fires timers of more than about 24.8 days at once. */
const LONGEST_TIMER_MS = 86_400_000;

/** Calls `fn` once when the clock reaches `whenMs` (ms since the epoch), unless disposed first. Any distance is allowed. */
export function callAt(clock: Clock, whenMs: number, fn: () => void): Disposable {
  let timer: Disposable;
  const arm = (): void => {
    const left = whenMs - clock.now();
    timer =
      left <= LONGEST_TIMER_MS ? clock.timer(fn, Math.max(0, left)) : clock.timer(arm, LONGEST_TIMER_MS);
  };
  arm();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** Ends a task at its deadline; `deadline` is the text in its dispatch. */
export function deadlineExceeded(deadline: string | undefined): FleetError {
  return new FleetError('DEADLINE_EXCEEDED', `the deadline ${deadline} has passed`);
}
