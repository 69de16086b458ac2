import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const START_TIME_FIELD = 22;
const STATE_FIELD = 3;

/**
 * What tells a running process from a later one with the same pid: the boot and the moment it started. Undefined when
 * no such process runs; one that has ended and waits to be collected counts as gone.
 */
export function processIdentity(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return existsSync(BOOT_ID) ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The second field is the program's name in parentheses, and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[STATE_FIELD - 3];
  const startTime = fields[START_TIME_FIELD - 3];
  if (state === 'Z' || state === 'X' || startTime === undefined) return undefined;
  return `${readFileSync(BOOT_ID, 'utf8').trim()}:${startTime}`;
}

function fromPs(pid: number): string | undefined {
  const ps = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    timeout: 5_000,
    // The start time is written in the user's language and time zone, and both may change.
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  const line = ps.status === 0 ? ps.stdout.trim() : '';
  if (line === '' || line.startsWith('Z')) return undefined;
  return line.replace(/^\S+\s+/, '');
}
