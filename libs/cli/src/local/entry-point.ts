import { spawn } from 'node:child_process';

const MAX_OUTPUT = 64 * 1024 * 1024;

/** Default time limit of a run, in ms. */
export const TIMEOUT_MS = 60_000;

/** A service's entry point. */
export interface EntryPoint {
  /** The file to run, and the arguments that select the service (commandOf). */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export interface EntryPointResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs an entry point with arguments that make it report and exit instead of serving. Kills it after `timeoutMs`, and
 * keeps at most 64 MiB of each output stream.
 */
export async function runEntryPoint(
  entryPoint: EntryPoint,
  args: readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<EntryPointResult> {
  const child = spawn(process.execPath, [...entryPoint.command, ...args], {
    cwd: entryPoint.cwd,
    env: entryPoint.env,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout = (stdout + chunk).slice(0, MAX_OUTPUT);
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr = (stderr + chunk).slice(0, MAX_OUTPUT);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, stdout, stderr };
}
