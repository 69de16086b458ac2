import { FleetError } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { compose } from './docker.ts';

const Publisher = z.object({ TargetPort: z.number(), PublishedPort: z.number() });

const Container = z
  .object({
    ID: z.string(),
    Service: z.string(),
    State: z.string(),
    Health: z.string().default(''),
    ExitCode: z.number().default(0),
    Status: z.string().default(''),
    Publishers: z.array(Publisher).nullish(),
  })
  .transform(({ ID, Service, State, Health, ExitCode, Status, Publishers }) => ({
    id: ID,
    service: Service,
    /** As the engine says it: `running`, `paused`, `exited`, `created`. */
    state: State,
    /** Empty without a health check. */
    health: Health,
    exitCode: ExitCode,
    /** For people, such as `Up 2 minutes (healthy)`. */
    status: Status,
    /** Its address on this machine, if it has one. */
    url: addressOf(Publishers ?? []),
  }));

/** A container of the fleet. */
export type Container = z.output<typeof Container>;

function addressOf(publishers: readonly z.output<typeof Publisher>[]): string | undefined {
  const published = publishers.find(({ PublishedPort }) => PublishedPort > 0);
  return published && `http://127.0.0.1:${published.PublishedPort}`;
}

/** Every container of the fleet in a folder, also of services that only some `up` starts. Throws PEER_UNREACHABLE without an engine. */
export async function listContainers(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
): Promise<readonly Container[]> {
  const { code, stdout, stderr } = await compose(folder, ['ps', '--all', '--format', 'json'], {
    output: 'text',
    env: { ...env, COMPOSE_PROFILES: '*' },
  });
  if (code !== 0)
    throw new FleetError('PEER_UNREACHABLE', `the containers cannot be listed: ${stderr.trim()}`);
  // One document a line; Compose before 2.21 prints a list.
  const lines = stdout.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line) => z.union([z.array(Container), Container]).parse(JSON.parse(line)));
}

/** The container of a service that runs; undefined without one. */
export const runningService = (containers: readonly Container[], service: string): Container | undefined =>
  containers.find((each) => each.service === service && each.state === 'running');

/** The container of a service that runs. Throws PEER_UNREACHABLE where it does not. */
export async function requireService(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  service: string,
): Promise<Container> {
  const all = await listContainers(folder, env);
  const found = runningService(all, service);
  if (found) return found;
  const isUp = all.some(({ state }) => state === 'running');
  throw new FleetError(
    'PEER_UNREACHABLE',
    isUp ? `${service} does not run` : `no fleet runs in ${folder.root}`,
  );
}
