import { readFileSync } from 'node:fs';
import { asset } from '@hermes-fleet/installation';
import { FleetError, parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { compose, docker, onHost } from './docker.ts';

const ComposeConfig = z.object({
  name: z.string(),
  services: z.record(
    z.string(),
    z.object({ ports: z.array(z.object({ published: z.coerce.string().optional() })).default([]) }),
  ),
});

export interface PublishedPort {
  readonly service: string;
  readonly port: string;
}

/** The Compose project of a fleet, and the ports that it publishes on this machine. */
export interface Project {
  readonly name: string;
  readonly ports: readonly PublishedPort[];
}

/** Calls docker; its output. Throws PEER_UNREACHABLE where it fails. */
export type Call = (...args: string[]) => Promise<string>;

export const callDocker =
  (env: NodeJS.ProcessEnv): Call =>
  async (...args) => {
    const { code, stdout, stderr } = await docker(args, { output: 'text', env });
    if (code === 0) return stdout.trim();
    throw new FleetError('PEER_UNREACHABLE', `docker ${args.join(' ')} fails: ${stderr.trim()}`);
  };

/** The project of a folder; undefined where Compose cannot read its file. */
export async function projectOf(folder: FleetFolder, env: NodeJS.ProcessEnv): Promise<Project | undefined> {
  const { code, stdout } = await compose(folder, ['config', '--format', 'json'], {
    output: 'text',
    env: { ...env, COMPOSE_PROFILES: 'grafana' },
  });
  if (code !== 0) return undefined;
  const { name, services } = ComposeConfig.parse(parseJson(stdout));
  const ports = Object.entries(services).flatMap(([service, { ports }]) =>
    ports.flatMap(({ published: port = '0' }) => (port === '0' ? [] : [{ service, port }])),
  );
  return { name, ports };
}

/** The filter of `docker ps` and others for what a project has. */
export const ofProject = (name: string): string => `label=com.docker.compose.project=${name}`;

export interface TakenPort extends PublishedPort {
  readonly owner: string;
}

/** The ports of a project that another program has, with its name. */
export async function takenPorts({ name, ports }: Project, call: Call): Promise<TakenPort[]> {
  const own = await call('ps', '--filter', ofProject(name), '--format', '{{.Ports}}');
  const script = readFileSync(asset('port-owner.sh'), 'utf8');
  const owners = ports
    .filter(({ port }) => !own.includes(`:${port}->`))
    .map(async ({ service, port }) => {
      const { code, stdout } = await onHost(['sh', '-c', script, 'sh', port], { output: 'text' });
      return code === 0 ? [{ service, port, owner: stdout.trim() }] : [];
    });
  return (await Promise.all(owners)).flat();
}

/** The variable that sets the port of a service on this machine. */
export const portVariable = (service: string): string => `${service.toUpperCase().replaceAll('-', '_')}_PORT`;
