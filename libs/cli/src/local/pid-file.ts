import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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

/** A process that `up` has started. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** What processIdentity said when it was started. */
  readonly identity: string;
}

const fileOf = (runDir: string, name: string): string => join(runDir, `${name}.json`);

/** Remembers a process that was started just now; undefined when it has ended already. */
export function recordProcess(runDir: string, name: string, pid: number): RunningProcess | undefined {
  const identity = processIdentity(pid);
  if (identity === undefined) return undefined;
  const running = { name, pid, identity };
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const temporary = `${fileOf(runDir, name)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(running)}\n`, { mode: 0o600 });
  renameSync(temporary, fileOf(runDir, name));
  return running;
}

/**
 * The process of this name that still runs. A pid that another process has by now is not ours: then there is none,
 * and whoever it belongs to is left alone.
 */
export function runningProcess(runDir: string, name: string): RunningProcess | undefined {
  const recorded = readRecord(fileOf(runDir, name));
  if (recorded === undefined) return undefined;
  return isAlive(recorded) ? recorded : undefined;
}

export function isAlive(running: RunningProcess): boolean {
  return processIdentity(running.pid) === running.identity;
}

export function forgetProcess(runDir: string, name: string): void {
  rmSync(fileOf(runDir, name), { force: true });
}

function readRecord(file: string): RunningProcess | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isRecord(value) ? value : undefined;
  } catch (error) {
    // What cannot be read must not pass for a process that does not run.
    const absent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (absent || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isRecord = (value: unknown): value is RunningProcess =>
  typeof value === 'object' &&
  value !== null &&
  'name' in value &&
  typeof value.name === 'string' &&
  'pid' in value &&
  typeof value.pid === 'number' &&
  'identity' in value &&
  typeof value.identity === 'string';
