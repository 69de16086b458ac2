import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** How a test file ended. */
export interface Run {
  readonly passed: boolean;
  readonly cpuS: number;
}

/** The kernel counts in ticks of a hundredth of a second. */
const TICKS_A_SECOND = 100;

/** The CPU time of the children that this process has waited for, and of theirs. */
function cpuOfChildren(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
    .map(Number);
  return (user + system) / TICKS_A_SECOND;
}

/** Runs one test file in its own process group. One that does not end in time is killed, and has not passed. */
export async function runTest(root: string, file: string, timeoutMs: number): Promise<Run> {
  const before = cpuOfChildren();
  // Node runs no test files inside a test process, which it knows by this variable.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { cwd: root, env, detached: true, stdio: 'ignore' } as const;
  const child = spawn(process.execPath, ['--test', file], options);
  const { pid } = child;
  const late = setTimeout(() => {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }, timeoutMs);
  const [code] = await once(child, 'exit');
  clearTimeout(late);
  return { passed: code === 0, cpuS: cpuOfChildren() - before };
}
