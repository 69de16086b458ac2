import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpuSeconds } from '../support/runner/cpu-seconds.ts';

/** How a test file ended. */
export interface Run {
  readonly passed: boolean;
  readonly cpuS: number;
}

/** Runs one test file in its own process group. One that does not end in time is killed, and has not passed. */
export async function runTest(root: string, file: string, timeoutMs: number): Promise<Run> {
  const before = cpuSeconds().children;
  // Node runs no test files inside a test process, which it knows by this variable.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: root, env, detached: true, stdio: 'ignore' } as const;
  const child = spawn(process.execPath, ['--test', file], options);
  const kill = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  process.once('exit', kill);
  const late = setTimeout(kill, timeoutMs);
  const [code] = await once(child, 'exit');
  clearTimeout(late);
  process.off('exit', kill);
  return { passed: code === 0, cpuS: cpuSeconds().children - before };
}
