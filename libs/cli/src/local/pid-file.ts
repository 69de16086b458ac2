import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A process that `up` started. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Its processIdentity at the start. */
  readonly identity: string;
}

const fileOf = (runDir: string, name: string): string => join(runDir, `${name}.json`);

/** Writes the pid file of a process that was just started; undefined when the process has already ended. */
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

/** The process of this name; undefined when it has ended, even if another process has its pid by now. */
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
    // An unreadable pid file must not look like a process that does not run.
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

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const START_TIME_FIELD = 22;
const STATE_FIELD = 3;

/**
 * Tells a process apart from a later one with the same pid, by the boot id and the start time. Undefined when no such
 * process runs; a zombie counts as ended.
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
  // The second field is the program's name in parentheses, which may contain spaces and parentheses.
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
    // ps prints the start time in the user's language and time zone, and both can change.
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  const line = ps.status === 0 ? ps.stdout.trim() : '';
  if (line === '' || line.startsWith('Z')) return undefined;
  return line.replace(/^\S+\s+/, '');
}
