import { FleetError } from '@hermes-fleet/protocol';
import { isSettled } from './states.ts';
import { notFound } from './task-rows.ts';
import type { TaskRecord } from './types.ts';

type Outcome = { readonly record: TaskRecord } | { readonly error: unknown };

/** The waits of `Ledger.settled`: each is handed the record that it waits for. */
export function createSettling() {
  const waits = new Map<string, Set<(outcome: Outcome) => void>>();
  const end = (taskId: string, outcome: Outcome): void => {
    const waiting = waits.get(taskId);
    if (waiting) for (const finish of waiting) finish(outcome);
  };
  return {
    /** Waits for a task that is not settled. Must be called in the turn of the event loop in which that was read. */
    wait: (taskId: string, signal: AbortSignal): Promise<TaskRecord> =>
      new Promise((resolve, reject) => {
        const onAbort = (): void => finish({ error: signal.reason });
        const finish = (outcome: Outcome): void => {
          signal.removeEventListener('abort', onAbort);
          const others = waits.get(taskId);
          others?.delete(finish);
          if (others?.size === 0) waits.delete(taskId);
          if ('record' in outcome) resolve(outcome.record);
          else reject(outcome.error);
        };
        const others = waits.get(taskId);
        if (others) others.add(finish);
        else waits.set(taskId, new Set([finish]));
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      }),
    /** Must be called after COMMIT with the record of each task that has changed. */
    changed: (record: TaskRecord): void => {
      if (isSettled(record.state)) end(record.id, { record });
    },
    /** Must be called after COMMIT with each task that was removed. */
    removed: (taskId: string): void => end(taskId, { error: notFound(taskId) }),
    close: (): void => {
      const error = new FleetError('SHUTTING_DOWN', 'the ledger is closed; try again after the restart');
      for (const taskId of [...waits.keys()]) end(taskId, { error });
    },
  };
}
