import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { type Readable, Writable } from 'node:stream';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import type { FleetFolder } from '../folder/fleet-folder.ts';
import { askHost, type DockerOptions, type DockerResult, hostRequests, KILL_MS } from './host-requests.ts';

export type { DockerOptions, DockerResult };

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
const NOT_FOUND = 127;
const KILLED = 137;

/**
 * Calls `docker` with these arguments: the only place that does. Keeps at most 64 MiB of each output. Throws REQUEST_TIMEOUT
 * after `timeoutMs`, and what `signal` is aborted with; then SIGTERM ends docker, or SIGKILL 10 s later.
 */
export const docker = (args: readonly string[], options: DockerOptions): Promise<DockerResult> =>
  onHost(['docker', ...args], options);

/** Runs a program of the host, as `docker` does, also where the command itself runs in a container. */
export async function onHost(argv: readonly string[], options: DockerOptions): Promise<DockerResult> {
  const { output, signal } = options;
  signal?.throwIfAborted();
  const timeoutMs = options.timeoutMs ?? (output === 'inherit' ? undefined : TIMEOUT_MS);
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const either = AbortSignal.any([signal, late].filter((each) => each !== undefined));
  const requests = hostRequests();
  const call = { ...options, signal: either };
  const result = await (requests ? askHost(requests, argv, call) : run(argv, call));
  signal?.throwIfAborted();
  if (late?.aborted)
    throw new FleetError('REQUEST_TIMEOUT', `${argv.join(' ')} took more than ${(timeoutMs ?? 0) / 1000} s`);
  return result;
}

async function run(
  [program = '', ...args]: readonly string[],
  { output, cwd, env = process.env, input, signal }: DockerOptions,
): Promise<DockerResult> {
  const inherits = output === 'inherit';
  const file = typeof output === 'object' && 'file' in output ? openSync(output.file, 'w') : undefined;
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: [
      input === undefined ? 'ignore' : 'pipe',
      file ?? (inherits ? 'inherit' : 'pipe'),
      inherits ? 'inherit' : 'pipe',
    ],
  });
  let killing: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill('SIGTERM');
    killing ??= setTimeout(() => {
      child.kill('SIGKILL');
      // A program that it started may hold them open.
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, KILL_MS);
  };
  signal?.addEventListener('abort', end, { once: true });
  // The terminal sends Ctrl-C to docker too, which then says how it ended.
  const wait = (): void => undefined;
  if (inherits) process.on('SIGINT', wait).on('SIGTERM', end);
  try {
    // A container that ends early does not read its input.
    child.stdin?.on('error', () => undefined).end(input);
    if (output instanceof Writable) child.stdout?.pipe(output);
    const stdout = read(output === 'text' ? child.stdout : null);
    const stderr = read(child.stderr);
    const [code] = await once(child, 'close');
    return { code: typeof code === 'number' ? code : KILLED, stdout: stdout(), stderr: stderr() };
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    if (output instanceof Writable) output.end();
    return { code: NOT_FOUND, stdout: '', stderr: `${program} is not installed` };
  } finally {
    clearTimeout(killing);
    if (file !== undefined) closeSync(file);
    signal?.removeEventListener('abort', end);
    process.off('SIGINT', wait).off('SIGTERM', end);
  }
}

/** Collects a stream; returns what it has at the end. */
function read(stream: Readable | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(0, MAX_OUTPUT);
  });
  return () => text;
}

/** Calls `docker compose` for the fleet in a folder, as `docker`. */
export const compose = (
  { root }: FleetFolder,
  args: readonly string[],
  options: DockerOptions,
): Promise<DockerResult> =>
  docker(['compose', '--project-directory', root, ...args], { cwd: root, ...options });

/** True where a Docker engine answers and has Compose. */
export async function hasEngine(env: NodeJS.ProcessEnv): Promise<boolean> {
  for (const args of [
    ['version', '--format', '{{.Server.Version}}'],
    ['compose', 'version'],
  ])
    if ((await docker(args, { output: 'text', env })).code !== 0) return false;
  return true;
}
