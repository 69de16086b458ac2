import { FleetError } from '@hermes-fleet/protocol';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { type DockerResult, docker } from './docker.ts';
import { execOf } from './inside.ts';
import { listContainers, runningService } from './list-containers.ts';
import { composeConfig, exists } from './state-place.ts';

const READ_MS = 15 * 60_000;
const HARDENED = ['--init', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

/**
 * Runs `fleet` with these words for the files of a service: in its container, or while that is down in one that has the same files
 * and is removed. Makes no volume and no network. Returns the exit code, and with the output `text` what the command prints. Throws
 * NOT_FOUND without an image.
 */
export async function runOnFiles(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  service: string,
  words: readonly string[],
  output: 'inherit' | 'text' = 'inherit',
): Promise<DockerResult> {
  const isUp = runningService(await listContainers(folder, env), service) !== undefined;
  const compose = ['compose', '--project-directory', folder.root];
  const call = isUp
    ? { args: [...compose, ...execOf(service, words)], env }
    : await jobOf(folder, env, service, words);
  return await docker(call.args, { output, cwd: folder.root, env: call.env, timeoutMs: READ_MS });
}

/** A container as Compose would make it for the service, but only with what is there. */
async function jobOf(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  service: string,
  words: readonly string[],
): Promise<{ readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv }> {
  const config = await composeConfig(folder, env);
  const spec = config?.services[service];
  if (config === undefined || spec === undefined)
    throw new FleetError('NOT_FOUND', `Compose knows no service ${service} in ${folder.root}`);
  if ((await docker(['image', 'inspect', spec.image], { output: 'text', env })).code !== 0)
    throw new FleetError(
      'NOT_FOUND',
      `there is no image ${spec.image}, which reads the volumes: fleet up builds it`,
    );
  const mounts: string[] = [];
  for (const { type, source = '', target, read_only } of spec.volumes) {
    const name = type === 'volume' ? (config.volumes[source]?.name ?? source) : source;
    if (type === 'volume' && !(await exists('volume', name, env))) continue;
    mounts.push('--volume', `${name}:${target}${read_only === true ? ':ro' : ''}`);
  }
  const network = config.networks.fleet?.name ?? '';
  const hasNetwork = network !== '' && (await exists('network', network, env));
  const variables = Object.entries(spec.environment).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  );
  return {
    args: [
      ...['run', '--rm', ...HARDENED, '--network', hasNetwork ? network : 'none'],
      ...(spec.user === undefined ? [] : ['--user', spec.user]),
      ...[spec.tmpfs].flat().flatMap((each) => ['--tmpfs', each]),
      ...variables.flatMap(([name]) => ['--env', name]),
      ...mounts,
      ...['--entrypoint', 'fleet', spec.image, ...words],
    ],
    // Secrets are in no list of arguments.
    env: { ...env, ...Object.fromEntries(variables) },
  };
}
