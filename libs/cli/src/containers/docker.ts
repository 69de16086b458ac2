import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Readable, Writable } from 'node:stream';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import type { FleetFolder } from '../folder/fleet-folder.ts';

export interface DockerOptions {
  /** `inherit`: the caller's own output, without a deadline. `text`: it is returned. A stream gets the standard output as it comes. */
  readonly output: 'inherit' | 'text' | Writable;
  readonly cwd?: string;
  /** The environment of `docker`; that of this process by default. */
  readonly env?: NodeJS.ProcessEnv;
  /** The standard input; empty by default. */
  readonly input?: string;
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** For output that is not inherited: 60 s by default. */
  readonly timeoutMs?: number;
}

export interface DockerResult {
  /** 127 where there is no `docker`. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
const NOT_FOUND = 127;
const KILLED = 137;

/**
 * Calls `docker` with these arguments: the only place that does. Keeps at most 64 MiB of each output. Throws REQUEST_TIMEOUT
 * after `timeoutMs`, and what `signal` is aborted with.
 */
export async function docker(args: readonly string[], options: DockerOptions): Promise<DockerResult> {
  const { output, cwd, env = process.env, input, signal } = options;
  signal?.throwIfAborted();
  const inherits = output === 'inherit';
  const child = spawn('docker', [...args], {
    cwd,
    env,
    stdio: [
      input === undefined ? 'ignore' : 'pipe',
      inherits ? 'inherit' : 'pipe',
      inherits ? 'inherit' : 'pipe',
    ],
  });
  const timeoutMs = options.timeoutMs ?? (inherits ? undefined : TIMEOUT_MS);
  const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const end = (): void => void child.kill('SIGTERM');
  for (const each of [signal, late]) each?.addEventListener('abort', end, { once: true });
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
    signal?.throwIfAborted();
    if (late?.aborted)
      throw new FleetError(
        'REQUEST_TIMEOUT',
        `docker ${args.join(' ')} took more than ${(timeoutMs ?? 0) / 1000} s`,
      );
    return { code: typeof code === 'number' ? code : KILLED, stdout: stdout(), stderr: stderr() };
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    if (output instanceof Writable) output.end();
    return { code: NOT_FOUND, stdout: '', stderr: 'docker is not installed' };
  } finally {
    for (const each of [signal, late]) each?.removeEventListener('abort', end);
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
