import { allProcesses, childrenOf, environmentOf, inGroup, isAlive } from './proc.ts';
import { hasCode } from './system-error.ts';

/** Passes over /proc before giving up on a process that forks faster than it is killed. */
const MAX_SWEEPS = 50;

/** Marks that all processes of one command inherit. */
export interface Marks {
  /** A supplementary group, which an unprivileged process cannot drop. */
  readonly gid?: number | undefined;
  /** An environment entry, `NAME=value`; it finds only processes whose environment this process may read. */
  readonly env?: string | undefined;
}

/**
 * Kills a command and everything it started: its process group, its descendants, and all processes with one of its
 * marks. Neither setsid nor a double fork escapes. Synchronous, because a process could fork between two event-loop
 * turns.
 */
export function killTree(pid: number, marks: Marks): void {
  const family = descendants(pid);
  kill(-pid);
  for (const member of family) kill(member);
  killMarked(marks);
}

/** Kills all processes with one of the marks, except those that `spare` returns true for. */
export function killMarked(marks: Marks, spare: (pid: number) => boolean = () => false): void {
  if (marks.gid === undefined && marks.env === undefined) return;
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep += 1) {
    const found = carriersOf(marks).filter((pid) => !spare(pid));
    if (found.length === 0) return;
    for (const carrier of found) kill(carrier);
  }
}

/** Live processes that carry one of the marks. */
export function carriersOf({ gid, env }: Marks): number[] {
  return allProcesses().filter(
    (pid) =>
      ((gid !== undefined && inGroup(pid, gid)) || (env !== undefined && environmentOf(pid).includes(env))) &&
      isAlive(pid),
  );
}

/** Kills a process, or with a negative number its group, if it is still there. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // The process is gone, or its pid now belongs to another user's process.
    if (!hasCode(error, 'ESRCH', 'EPERM')) throw error;
  }
}

function descendants(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
}
