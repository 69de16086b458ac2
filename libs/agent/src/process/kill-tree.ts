import { readdirSync, readFileSync } from 'node:fs';

/** Passes over /proc before giving up on a process that forks faster than it is killed. */
const MAX_SWEEPS = 50;

/**
 * Kills a command and everything it started: its process group, its descendants, and (where the command was given a
 * group id of its own) whatever carries that id, which a process cannot shed: neither setsid nor a double fork
 * escapes. Synchronous, so that nothing forks unseen between two steps of the event loop.
 */
export function killTree(pid: number, markGid: number | undefined): void {
  const family = descendants(pid);
  kill(-pid);
  for (const member of family) kill(member);
  if (markGid === undefined) return;
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep += 1) {
    const found = carriersOf(markGid);
    if (found.length === 0) return;
    for (const carrier of found) kill(carrier);
  }
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
  const direct = read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return direct.flatMap((child) => [child, ...descendants(child)]);
}

function carriersOf(gid: number): number[] {
  const group = new RegExp(`^Groups:.*\\b${gid}\\b`, 'm');
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((entry) => {
      const status = read(`/proc/${entry}/status`);
      return group.test(status) && !/^State:\s+[ZX]/m.test(status);
    })
    .map(Number);
}

/** A file of /proc, empty once its process is gone. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
