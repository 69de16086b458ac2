import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';

export interface DockerOptions {
  /** `inherit`: the caller's own output, without a deadline. `text`: it is returned. A stream gets the standard output as it comes, and a file all of it. */
  readonly output: 'inherit' | 'text' | Writable | { readonly file: string };
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

/**
 * On a host with Docker and without Node.js, the command runs in the image, and this folder is the way to the host: the shell
 * that started the command answers there (deploy/docker/without-node.sh). Undefined where the command runs on the host itself.
 */
export const hostRequests = (env: NodeJS.ProcessEnv = process.env): string | undefined =>
  env.FLEET_DOCKER_REQUESTS || undefined;

/** A program that SIGTERM has not ended within this time is killed. */
export const KILL_MS = 10_000;
const POLL_MS = 50;
/** The shell says ten times a second that it lives. */
const SILENT_MS = 30_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * Has the host run a program, which `signal` ends as in `docker`. `env` may add to the environment of the host, and an output that is `inherit`
 * is copied as it comes. Throws STORE_UNAVAILABLE where the host does not answer.
 */
export async function askHost(
  folder: string,
  argv: readonly string[],
  { output, cwd = '/', env = process.env, input, signal }: Omit<DockerOptions, 'timeoutMs'>,
): Promise<DockerResult> {
  const name = join(folder, randomUUID());
  const changed = Object.entries(env).filter(([key, value]) => value !== process.env[key]);
  const variables = changed.map(([key, value = '']) => `${key}=${value}`);
  if (typeof output === 'object' && 'file' in output) symlinkSync(output.file, `${name}.out`);
  writeCall(name, 'call', [cwd, ...variables, ...argv], input);
  const inherits = output === 'inherit';
  const copies = [
    ...(output instanceof Writable ? [copyOf(`${name}.out`, output)] : []),
    ...(inherits ? [copyOf(`${name}.out`, process.stdout), copyOf(`${name}.err`, process.stderr)] : []),
  ];
  let signalled: NodeJS.Signals | undefined;
  const end = (sent: NodeJS.Signals): void => {
    signalled = sent;
  };
  if (inherits) process.on('SIGINT', end).on('SIGTERM', end);
  try {
    let isTold = false;
    let isKilled = false;
    let abortedAt: number | undefined;
    let answeredAt = clock.monotonic();
    for (let ended = false; !ended; ) {
      ended = existsSync(`${name}.code`);
      for (const copy of copies) await copy();
      if (takeSign(folder)) answeredAt = clock.monotonic();
      if (clock.monotonic() - answeredAt > SILENT_MS)
        throw new FleetError(
          'STORE_UNAVAILABLE',
          `nobody answers in ${folder}: the shell of ./fleet has ended`,
        );
      if (!isTold && (signalled || signal?.aborted)) isTold = kill(folder, name, signalled ?? 'SIGTERM');
      if (signal?.aborted) abortedAt ??= clock.monotonic();
      if (!isKilled && abortedAt !== undefined && clock.monotonic() - abortedAt > KILL_MS)
        isKilled = kill(folder, name, 'SIGKILL');
      if (!ended) await clock.sleep(POLL_MS);
    }
    const code = Number(readFileSync(`${name}.code`, 'utf8'));
    const stdout = output === 'text' ? textOf(`${name}.out`) : '';
    return { code, stdout, stderr: inherits ? '' : textOf(`${name}.err`) };
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
    for (const suffix of ['in', 'out', 'err', 'taken', 'code']) rmSync(`${name}.${suffix}`, { force: true });
  }
}

/** Has the host run a program when the command has ended, however it does; the disposal takes that back. */
export function atEndOnHost(folder: string, cwd: string, argv: readonly string[]): Disposable {
  const name = join(folder, randomUUID());
  writeCall(name, 'last', [cwd, ...argv]);
  return { [Symbol.dispose]: () => rmSync(`${name}.last`) };
}

/** One word a line, with the escapes of `printf %b`. */
function writeCall(name: string, suffix: 'call' | 'last', words: readonly string[], input = ''): void {
  const escaped = words.map((word) => word.replaceAll('\\', '\\\\').replaceAll('\n', '\\n'));
  writeFileSync(`${name}.in`, input);
  writeFileSync(`${name}.part`, `${escaped.join('\n')}\n`);
  renameSync(`${name}.part`, `${name}.${suffix}`);
}

/** False until the host has begun to run the program, and written its pid. */
function kill(folder: string, name: string, signal: NodeJS.Signals): boolean {
  const pid = readIfThere(`${name}.pid`)?.trim();
  if (!pid) return false;
  writeCall(join(folder, randomUUID()), 'call', ['/', 'kill', `-${signal.slice(3)}`, pid]);
  return true;
}

/** True where the shell has said, since the last time, that it lives. */
function takeSign(folder: string): boolean {
  const sign = join(folder, 'alive');
  if (!existsSync(sign)) return false;
  rmSync(sign, { force: true });
  return true;
}

/** Copies what a file has had added since the last call. */
function copyOf(file: string, to: Writable): () => Promise<void> {
  const buffer = Buffer.alloc(64 * 1024);
  let position = 0;
  return async () => {
    if (!existsSync(file)) return;
    const fd = openSync(file, 'r');
    try {
      for (let bytes = -1; bytes !== 0; position += bytes) {
        bytes = readSync(fd, buffer, 0, buffer.length, position);
        if (bytes > 0 && !to.write(Buffer.from(buffer.subarray(0, bytes))))
          await new Promise((resolve) => to.once('drain', resolve));
      }
    } finally {
      closeSync(fd);
    }
  };
}

const textOf = (file: string): string => readFileSync(file).subarray(0, MAX_OUTPUT).toString();

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
