import { FleetError } from '@hermes-fleet/protocol';
import type { Executor } from '@hermes-fleet/protocol/ports';
import { rootIdOf } from './tools/scratchpad.ts';
import type { UnfinishedTask } from './tools/scratchpad-sweep.ts';

/** Tracks active runs. `close` ends each with SHUTTING_DOWN, and the next start can resume it. */
export function trackRuns(executor: Executor) {
  const closing = new AbortController();
  const active = new Map<Promise<unknown>, UnfinishedTask>();
  return {
    tasks: (): UnfinishedTask[] => [...active.values()],
    executor: {
      model: executor.model,
      async run(task, context) {
        const signal = AbortSignal.any([context.signal, closing.signal]);
        const run = executor.run(task, { ...context, signal });
        active.set(run, { id: task.id, rootId: rootIdOf(task) });
        try {
          return await run;
        } finally {
          active.delete(run);
        }
      },
    } satisfies Executor,
    async close(): Promise<void> {
      closing.abort(
        new FleetError('SHUTTING_DOWN', 'the profile is shutting down; the task resumes at its next start'),
      );
      await Promise.allSettled(active.keys());
    },
  };
}
