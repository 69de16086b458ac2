import type { Clock } from '@hermes-fleet/protocol';
import { allProcesses, environmentOf, type ProcessStatus, processStatus } from '../process/proc.ts';
import type { CommandMonitor, RunningCommand } from '../process/run-command.ts';

const EVERY_MS = 500;
/** The part of the time that sampling may take, as a divisor. */
const SHARE = 50;
const KIB_PER_MIB = 1024;

interface Member extends ProcessStatus {
  /** Those of the watched commands' marks that are in its environment. */
  readonly carried: readonly string[];
}

/**
 * Creates a monitor that ends a command whose processes together use more than `limitMb` MiB of memory. One pass over
 * /proc serves all commands. It is made every 500 ms, or less often if it would take more than 2% of the time.
 */
export function createMemoryWatch(options: {
  readonly limitMb: number;
  readonly clock: Clock;
  /** Default: /proc. */
  readonly readEnvironment?: (pid: number) => readonly string[];
}): CommandMonitor {
  const { limitMb, clock, readEnvironment = environmentOf } = options;
  const running = new Set<RunningCommand>();
  let timer: Disposable | undefined;

  function sample(): void {
    const startedAt = clock.monotonic();
    const processes = new Map<number, Member>();
    const watched = new Set([...running].map(({ marks }) => marks.env));
    watched.delete(undefined);
    for (const pid of allProcesses()) {
      const status = processStatus(pid);
      if (status === undefined) continue;
      // An environment may have thousands of entries, so it is read once for all commands.
      const carried = watched.size === 0 ? [] : readEnvironment(pid).filter((entry) => watched.has(entry));
      processes.set(pid, { ...status, carried });
    }
    for (const command of running) {
      const usedMb = Math.round(memoryKib(command, processes) / KIB_PER_MIB);
      if (usedMb <= limitMb) continue;
      command.end(
        `its processes used ${usedMb} MiB of memory, and the limit is ${limitMb} (tools.shell.limits.memory_mb)`,
      );
    }
    schedule(Math.max(EVERY_MS, (clock.monotonic() - startedAt) * SHARE));
  }

  function schedule(ms: number): void {
    timer = running.size === 0 ? undefined : clock.timer(sample, ms);
  }

  return (command) => {
    running.add(command);
    if (timer === undefined) schedule(EVERY_MS);
    return {
      [Symbol.dispose]() {
        running.delete(command);
        if (running.size > 0) return;
        timer?.[Symbol.dispose]();
        timer = undefined;
      },
    };
  };
}

/**
 * The memory of a command's processes: what belongs to each alone, swapped out or not, and shared memory once. Pages of
 * files are not counted: the kernel can drop them.
 */
function memoryKib({ pid, marks }: RunningCommand, processes: ReadonlyMap<number, Member>): number {
  let own = 0;
  let shared = 0;
  for (const [member, status] of processes) {
    const belongs =
      isDescendant(member, pid, processes) ||
      (marks.gid !== undefined && status.groups.includes(marks.gid)) ||
      (marks.env !== undefined && status.carried.includes(marks.env));
    if (!belongs) continue;
    own += status.anonymousKib;
    shared = Math.max(shared, status.sharedKib);
  }
  return own + shared;
}

function isDescendant(pid: number, ancestor: number, processes: ReadonlyMap<number, ProcessStatus>): boolean {
  // A table that changes while it is read could have a circle, which its size bounds.
  for (let at = pid, steps = 0; at > 1 && steps <= processes.size; steps += 1) {
    if (at === ancestor) return true;
    at = processes.get(at)?.parent ?? 0;
  }
  return false;
}
