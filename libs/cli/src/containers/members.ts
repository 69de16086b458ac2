import { FleetError } from '@hermes-fleet/protocol';
import type { Endpoint } from '../client/api.ts';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import type { PlannedMember } from '../local/plan.ts';
import { hostRequests } from './host-requests.ts';
import { listContainers, runningService } from './list-containers.ts';

/** Nobody listens there, and nothing is sent there: a call of a member that does not run fails at once. */
const NOWHERE = 'http://127.0.0.1:1';

/** A member of the fleet, and its address as the user reaches it, which is another one where this process runs in a container. */
export type Member = Endpoint & { readonly shown: string };

/**
 * The addresses of members in containers: those that are published on this machine, or without Node.js here, where this
 * process is a container on the network of the fleet, the names of the services.
 */
export async function membersInContainers(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  members: readonly Pick<PlannedMember, 'name' | 'port'>[],
): Promise<readonly Member[]> {
  const containers = await listContainers(folder, env);
  return members.map(({ name, port }) => {
    const container = runningService(containers, name);
    const shown = container?.url ?? NOWHERE;
    return { name, shown, url: container && hostRequests(env) ? `http://${name}:${port}` : shown };
  });
}

/** Throws PEER_UNREACHABLE where no member runs. */
export function requireSome({ root }: FleetFolder, members: readonly Member[]): void {
  if (members.every(({ shown }) => shown === NOWHERE))
    throw new FleetError('PEER_UNREACHABLE', `no fleet runs in ${root}`);
}

/** Prometheus and Grafana, where they run and are published. */
export async function watchersInContainers(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
): Promise<readonly Endpoint[]> {
  const containers = await listContainers(folder, env);
  return ['prometheus', 'grafana'].flatMap((name) => {
    const url = runningService(containers, name)?.url;
    return url === undefined ? [] : [{ name, url }];
  });
}
