import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { FleetError, systemCode } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { procStat } from '../local/pid-file.ts';

/** Stopped processes; they continue with the disposal, and also if this process dies. */
export interface Pause extends AsyncDisposable {
  /** Throws CAPACITY if one of them was continued meanwhile. */
  check(): void;
}

const STOP_MS = 10_000;

/** Continues the processes whose ids it has read when its input ends, however the writer ended. */
const CONTINUE_AT_END =
  'trap "" INT TERM HUP; while read -r pid; do pids="$pids $pid"; done; kill -CONT $pids';

/**
 * Stops processes with all that they started (SIGSTOP), so that no file of theirs changes. What is on the disk then is what
 * a machine would have on it that lost its power at this moment. Throws CAPACITY, and continues what it stopped, if one of
 * them is stopped already, as by another backup, or does not stop; UNSUPPORTED_OPERATION where the system is not Linux.
 */
export async function pauseProcesses(pids: readonly number[]): Promise<Pause> {
  if (!existsSync('/proc/self/stat'))
    throw new FleetError(
      'UNSUPPORTED_OPERATION',
      'processes can be paused on Linux only: stop the fleet, back it up, and start it again',
    );
  if (pids.some((pid) => procStat(pid)?.state === 'T'))
    throw new FleetError(
      'CAPACITY',
      `processes of the fleet are stopped, as during a backup: wait for it, or continue them (kill -CONT ${pids.join(' ')})`,
    );
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
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  };
  const running = (): number[] =>
    [...stopped].filter((pid) => !['T', 'Z', 'X', undefined].includes(procStat(pid)?.state));
  const pause: Pause = {
    check() {
      if (running().length === 0) return;
      throw new FleetError('CAPACITY', 'a process of the fleet was continued during the backup: try again');
    },
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
    // One that waits for the disk stops afterwards.
    for (let waited = 0; running().length > 0; waited += 10) {
      if (waited >= STOP_MS)
        throw new FleetError('CAPACITY', `process ${running().join(', ')} does not stop: try again`);
      await systemClock.sleep(10);
    }
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
    .filter((pid) => Number.isInteger(pid) && !known.has(pid) && known.has(procStat(pid)?.parent ?? 0));
}
