import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

/** Stopped processes; they continue with the disposal, and also if this process dies. */
export type Pause = AsyncDisposable;

/** Continues the processes whose ids it has read when its input ends, however the writer ended. */
const CONTINUE_AT_END =
  'trap "" INT TERM HUP; while read -r pid; do pids="$pids $pid"; done; kill -CONT $pids';

/**
 * Stops processes with all that they started (SIGSTOP), so that no file of theirs changes. What is on the disk then is what
 * a machine would have on it that lost its power at this moment.
 */
export async function pauseProcesses(pids: readonly number[]): Promise<Pause> {
  const guard = spawn('sh', ['-c', CONTINUE_AT_END], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  await once(guard, 'spawn');
  const stopped = new Set<number>();
  const stop = (pid: number): void => {
    stopped.add(pid);
    guard.stdin.write(`${pid}\n`);
    try {
      process.kill(pid, 'SIGSTOP');
    } catch (error) {
      if (!hasEnded(error)) throw error;
    }
  };
  const pause: Pause = {
    async [Symbol.asyncDispose]() {
      guard.stdin.end();
      if (guard.exitCode === null && guard.signalCode === null) await once(guard, 'exit');
    },
  };
  try {
    for (const pid of pids) stop(pid);
    // A process can start others until it is stopped itself.
    for (let found = descendantsOf(stopped); found.length > 0; found = descendantsOf(stopped))
      for (const pid of found) stop(pid);
    return pause;
  } catch (error) {
    await pause[Symbol.asyncDispose]();
    throw error;
  }
}

/** The children of these processes that are not among them. */
function descendantsOf(known: ReadonlySet<number>): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && !known.has(pid) && known.has(parentOf(pid) ?? 0));
}

const PARENT_FIELD = 4;

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may contain spaces and parentheses.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[PARENT_FIELD - 3]);
  } catch (error) {
    if (hasEnded(error)) return undefined;
    throw error;
  }
}

const hasEnded = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'ENOENT');
