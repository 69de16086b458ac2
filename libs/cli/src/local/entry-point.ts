import { spawn } from 'node:child_process';

const MAX_OUTPUT = 64 * 1024 * 1024;

/** How long a question to an entry point may take, ms. */
export const GIVE_UP_MS = 60_000;

export interface Question {
  /** The entry point and its own arguments (commandOf). */
  readonly command: readonly string[];
  /** What it is to do instead of serving. */
  readonly question: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** When it is killed, ms; GIVE_UP_MS by default. */
  readonly timeoutMs?: number;
}

/** Runs a member's entry point in a process of its own, for an answer instead of a service; bounded in time and size. */
export async function askEntryPoint(
  o: Question,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [...o.command, ...o.question], {
    cwd: o.cwd,
    env: o.env,
    timeout: o.timeoutMs ?? GIVE_UP_MS,
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
