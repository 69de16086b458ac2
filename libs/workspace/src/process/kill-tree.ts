import { allProcesses, carriesMark, childrenOf, inGroup, isAlive } from './proc.ts';

/** Passes over /proc before giving up on a process that forks faster than it is killed. */
const MAX_SWEEPS = 50;

/** What the processes of one command carry, wherever they fork to. */
export interface Marks {
  /** A supplementary group, which a process without rights cannot shed. */
  readonly gid?: number | undefined;
  /** A variable of the environment, `NAME=value`; it tells of those whose environment this process may read. */
  readonly env?: string | undefined;
}

/**
 * Kills a command and everything it started: its process group, its descendants, and whatever carries one of its marks:
 * neither setsid nor a double fork escapes. Synchronous, so that nothing forks unseen between two steps of the event loop.
 */
export function killTree(pid: number, marks: Marks): void {
  const family = descendants(pid);
  kill(-pid);
  for (const member of family) kill(member);
  killMarked(marks);
}

/** Kills whatever carries a mark; `spare` keeps it from what only seems to. */
export function killMarked(marks: Marks, spare: (pid: number) => boolean = () => false): void {
  if (marks.gid === undefined && marks.env === undefined) return;
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep += 1) {
    const found = carriersOf(marks).filter((pid) => !spare(pid));
    if (found.length === 0) return;
    for (const carrier of found) kill(carrier);
  }
}

/** The living processes that carry one of the marks. */
export function carriersOf({ gid, env }: Marks): number[] {
  return allProcesses().filter(
    (pid) =>
      ((gid !== undefined && inGroup(pid, gid)) || (env !== undefined && carriesMark(pid, env))) &&
      isAlive(pid),
  );
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // Gone already; or a number that has passed to a process of somebody else.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

function descendants(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendants(child)]);
}
