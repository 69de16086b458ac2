import { spawn } from 'node:child_process';

/** How long a question to a profile's entry point may take, ms. */
export const GIVE_UP_MS = 60_000;
const MAX_OUTPUT = 4 * 1024 * 1024;

export interface ProfileQuestion {
  readonly entryPoint: string;
  readonly profile: string;
  /** What it is to do instead of serving. */
  readonly question: '--doctor' | '--card';
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Runs a profile's entry point in a process of its own, for an answer instead of a service; bounded in time and size. */
export async function askProfile(
  o: ProfileQuestion,
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(process.execPath, [o.entryPoint, '--profile', o.profile, o.question], {
    ...{ cwd: o.cwd, env: o.env, timeout: GIVE_UP_MS, killSignal: 'SIGKILL' },
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
