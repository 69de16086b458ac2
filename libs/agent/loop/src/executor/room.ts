import type { Executor } from '@hermes-fleet/protocol/ports';
import { capacityOf, type DiskSpace, type Workspaces, withMonitor } from '@hermes-fleet/workspace';
import { blocked } from './outcome.ts';

/** A task without room is `blocked`, for another worker; one that has spent tokens ends with CAPACITY, its work kept. */
export function withinRoom(executor: Executor, disk: DiskSpace): Executor {
  return {
    model: executor.model,
    async run(task, context) {
      const spent = context.budget.spent();
      const unmet = disk.unmet();
      if (unmet !== undefined && spent === 0) return blocked(unmet);
      using free = disk.watchFree();
      const signal = AbortSignal.any([context.signal, free.signal]);
      try {
        return await executor.run(task, { ...context, signal });
      } catch (error) {
        const capacity = capacityOf(error);
        if (capacity === undefined) throw error;
        if (context.budget.spent() > 0) throw capacity;
        const processes = {
          kind: 'capacity',
          name: 'processes',
          detail: capacity.message,
          transient: true,
        } as const;
        return blocked(disk.unmet() ?? processes);
      }
    },
  };
}

/** Workspaces whose commands end when they make a context too large for `disk`. */
export function measuredWorkspaces(workspaces: Workspaces, disk: DiskSpace): Workspaces {
  return {
    ...workspaces,
    async openWorkspace(contextId, opening) {
      const workspace = await workspaces.openWorkspace(contextId, opening);
      const monitor = disk.monitor([workspace.dir, ...Object.values(workspace.env)], workspace.wrap);
      const wrap: typeof workspace.wrap = (command, args, proxy) =>
        withMonitor(workspace.wrap(command, args, proxy), monitor);
      return { ...workspace, wrap };
    },
  };
}
