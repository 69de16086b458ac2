import { FleetError } from '@hermes-fleet/protocol';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { compose, type DockerOptions, type DockerResult, docker } from './docker.ts';
import { requireService } from './list-containers.ts';
import { composeConfig, exists } from './state-place.ts';

/** The engine may have to make a container first, on a machine that is busy. */
const JOB_MS = 5 * 60_000;

/** The options of a call, and of its output, as the words of a command line. */
export const wordsOf = (
  values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>,
): string[] =>
  Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    if (value === true) return [`--${name}`];
    return [value].flat().map((text) => `--${name}=${text}`);
  });

/** The words with which Compose runs `fleet` in the container of a service, as the user of the service. */
export const execOf = (service: string, words: readonly string[]): string[] => [
  ...['exec', '-T', '-u', '1000', service, 'fleet'],
  ...words,
];

/**
 * Runs `fleet` with these words in the container of a service, which has its keys, files and network. Returns the exit code. Throws
 * PEER_UNREACHABLE where the service does not run.
 */
export async function runInside(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  service: string,
  words: readonly string[],
): Promise<number> {
  await requireService(folder, env, service);
  const { code } = await compose(folder, execOf(service, words), { output: 'inherit', env });
  return code;
}

/** As `runInside`, and returns what the command prints. */
export const askInside = (
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  service: string,
  words: readonly string[],
): Promise<DockerResult> =>
  compose(folder, execOf(service, words), { output: 'text', env, timeoutMs: JOB_MS });

/** Runs a service of Compose as a job of its own. Removes the networks that Compose makes for it while the fleet is down. */
export async function runJob(
  folder: FleetFolder,
  env: NodeJS.ProcessEnv,
  words: readonly string[],
  options: DockerOptions,
): Promise<DockerResult> {
  const made: string[] = [];
  for (const { name } of Object.values((await composeConfig(folder, env))?.networks ?? {}))
    if (!(await exists('network', name, env))) made.push(name);
  const result = await compose(folder, ['run', '--rm', '--no-deps', '-T', ...words], options);
  // One that an `up` uses by now stays.
  if (made.length > 0) await docker(['network', 'rm', ...made], { output: 'text', env });
  return result;
}

/** The operator's token, from the volume that only the job `keys` mounts. Throws PEER_UNREACHABLE without one. */
export async function tokenOfContainers(folder: FleetFolder, env: NodeJS.ProcessEnv): Promise<string> {
  const options = { output: 'text', env, timeoutMs: JOB_MS } as const;
  const { code, stdout, stderr } = await runJob(folder, env, ['keys', 'token'], options);
  if (code === 0) return stdout.trim();
  throw new FleetError('PEER_UNREACHABLE', `the operator's token cannot be read: ${lastLine(stderr)}`);
}

/** Compose says what it does before it says what went wrong. */
export const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';
