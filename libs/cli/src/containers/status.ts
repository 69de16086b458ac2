import type { FleetFolder } from '../folder/fleet-folder.ts';
import { type FleetPlan, planFleet } from '../local/plan.ts';
import type { ProcessStatus } from '../local/ready.ts';
import { type Container, listContainers } from './list-containers.ts';

/**
 * The state of the fleet in containers, as of processes: of each of its services, and of what else runs there or has failed. Jobs
 * that are done are left out.
 */
export async function containerStatus(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
): Promise<readonly ProcessStatus[]> {
  const containers = await listContainers(folder, env);
  const planned = namesOf(planFleet({ root: folder.root }));
  const rest = containers
    .filter(
      ({ service, state, exitCode }) => !planned.includes(service) && (state !== 'exited' || exitCode !== 0),
    )
    .map(({ service }) => service);
  return [...planned, ...rest].map((name) =>
    statusOf(
      name,
      containers.find(({ service }) => service === name),
    ),
  );
}

const namesOf = ({ processes }: FleetPlan): readonly string[] => processes.map(({ name }) => name);

function statusOf(name: string, container: Container | undefined): ProcessStatus {
  const at = { name, pid: undefined, url: container?.url ?? '', logFile: '' };
  if (container?.state !== 'running') return { ...at, state: 'down', ...detailOf(container) };
  const isReady = container.health === 'healthy' || container.health === '';
  return isReady ? { ...at, state: 'ready' } : { ...at, state: 'not ready', ...detailOf(container) };
}

const detailOf = (container: Container | undefined) => container && { detail: container.status };
