import type { AdmittedTask, BundleSource } from '@hermes-fleet/protocol/ports';
import type { Opening } from '@hermes-fleet/workspace';

/** The repository of a task as the workspace opens it, with the bundles of its caller's checkout. `signal` ends their transfer. */
export function repositoryOf(
  task: AdmittedTask,
  bundles: BundleSource | undefined,
  signal: AbortSignal,
): Opening['repository'] {
  const { repository } = task.dispatch.task;
  if (repository === undefined) return undefined;
  const { name, base, bundle } = repository;
  return {
    name,
    base,
    ...(bundle !== undefined && bundles && { bundle: (commit) => bundles.open(task, commit, signal) }),
  };
}
