import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { sanitize } from '../command-line/output.ts';

export interface GitCall {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Stdin: a text, or a file from a place on. Default: empty. */
  readonly input?: string | { readonly file: string; readonly start: number };
  /** Reads standard output, of any length, in place of the text that the call returns. Its error ends the call. */
  readonly output?: (stdout: Readable) => Promise<void>;
  /** The call is done to its end, also when the command is stopped meanwhile. */
  readonly isWhole?: boolean;
}

export interface GitEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The user's git, with the user's settings. */
export interface Git {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly signal: AbortSignal;
  exec(args: readonly string[], call?: GitCall): Promise<GitEnd>;
  /** Standard output without its last line break. Throws `failed` for another exit code than 0. */
  read(args: readonly string[], failed: string, call?: GitCall): Promise<string>;
  ask(args: readonly string[], call?: GitCall): Promise<boolean>;
  in(folder: string): Git;
}

const GIT_MS = 600_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_SAID = 500;

/**
 * Git in a folder. A call throws the reason of `signal`, INVALID_PARAMS where git cannot be started, takes too long or says
 * too much, and the error of its input and output.
 */
export function createGit(env: NodeJS.ProcessEnv, cwd: string, signal: AbortSignal): Git {
  const exec: Git['exec'] = async (args, call = {}) => {
    signal.throwIfAborted();
    const child = spawn('git', args, {
      cwd,
      env: { ...env, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', ...call.env },
      stdio: 'pipe',
      // Apart from the Ctrl-C of the terminal: this process decides what is stopped.
      detached: true,
    });
    const stop = (): boolean => child.kill();
    const expiry = setTimeout(stop, GIT_MS);
    if (!call.isWhole) signal.addEventListener('abort', stop);
    const { promise: ended, resolve, reject } = Promise.withResolvers<number>();
    child.once('error', (cause) =>
      reject(failure(`git cannot be run in ${cwd} (${systemCode(cause) ?? cause}): is it installed?`, cause)),
    );
    child.once('close', (code) => resolve(code ?? -1));
    const { input = '', output } = call;
    const stdin = typeof input === 'string' ? Readable.from([input]) : createReadStream(input.file, input);
    try {
      const [code, stdout, stderr] = await Promise.all([
        ended,
        output ? output(child.stdout).then(() => '') : bounded(child.stdout, stop),
        bounded(child.stderr, stop),
        // Git that has read enough, or fails, closes its input: its end says why.
        pipeline(stdin, child.stdin).catch((error: unknown) => {
          if (!['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(systemCode(error) ?? '')) throw error;
        }),
      ]);
      if (!call.isWhole) signal.throwIfAborted();
      if (child.signalCode !== null) throw failure(`git ${args[0]} was ended (${child.signalCode})`);
      return { code, stdout, stderr };
    } catch (error) {
      stop();
      throw error;
    } finally {
      clearTimeout(expiry);
      signal.removeEventListener('abort', stop);
    }
  };
  return {
    env,
    cwd,
    signal,
    exec,
    async read(args, failed, call) {
      const { code, stdout, stderr } = await exec(args, call);
      if (code !== 0) throw failure(`${failed}: ${saidBy(stderr)}`);
      return stdout.replace(/\n$/, '');
    },
    ask: async (args, call) => (await exec(args, call)).code === 0,
    in: (folder) => createGit(env, folder, signal),
  };
}

/** The first lines of git's message, as one line. */
export const saidBy = (stderr: string): string =>
  sanitize(
    stderr
      .trim()
      .replace(/^(?:fatal|error): /, '')
      .replaceAll(/\n\s*(?:fatal|error): /g, '; ')
      .replaceAll(/\s+/g, ' ')
      .slice(0, MAX_SAID),
  ) || 'it says nothing';

/** The entries of a list that ends each with a NUL. */
export async function namesIn(git: Git, args: readonly string[], call?: GitCall): Promise<string[]> {
  const found = await git.read(args, `git ${args[0]} fails`, call);
  return [...new Set(found.split('\0').filter((name) => name !== ''))];
}

/** Calls `each` with the entries of such a list, of any length. */
export async function eachName(
  git: Git,
  args: readonly string[],
  each: (name: string) => void,
): Promise<void> {
  let rest = '';
  const output = async (stdout: Readable): Promise<void> => {
    for await (const chunk of stdout) {
      const names = `${rest}${chunk.toString('latin1')}`.split('\0');
      rest = names.pop() ?? '';
      for (const name of names) each(Buffer.from(name, 'latin1').toString());
    }
  };
  const { code, stderr } = await git.exec(args, { output });
  if (code !== 0) throw failure(`git ${args[0]} fails: ${saidBy(stderr)}`);
}

/** INVALID_PARAMS, on one line whatever it names. */
export const failure = (message: string, cause?: unknown): FleetError =>
  new FleetError('INVALID_PARAMS', sanitize(message), { cause });

async function bounded(stream: Readable, stop: () => boolean): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      stop();
      throw failure(`git says more than ${MAX_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
