import type { Ledger, TaskRecord } from '@hermes-fleet/ledger';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { followProgress, type ProgressOptions } from './progress.ts';

export interface AwaitOptions extends Omit<ProgressOptions, 'ledger' | 'send'> {
  readonly ledger: ProgressOptions['ledger'] & Pick<Ledger, 'settled'>;
  readonly clock: Clock;
}

/**
 * Waits until the task has ended, until it asks its caller, until `waitMs` have passed, or until the call need not wait
 * any longer, and returns the task as it is then. `progress` is told what the task does meanwhile.
 */
export async function awaitTask(
  options: AwaitOptions,
  taskId: string,
  call: {
    readonly waitMs: number;
    readonly signal: AbortSignal;
    readonly progress: ((message: string) => void) | undefined;
  },
): Promise<TaskRecord | undefined> {
  const { ledger, clock } = options;
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal, over.signal]);
  using _ = clock.timer(() => over.abort(), call.waitMs);
  const following = call.progress
    ? followProgress({ ...options, send: call.progress }, taskId, signal)
    : undefined;
  try {
    const { lastSeq } = await ledger.settled(taskId, signal);
    // The last notification is what ended the wait.
    await following?.until(lastSeq);
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  } finally {
    over.abort();
    await following?.ended;
  }
  return ledger.get(taskId);
}
