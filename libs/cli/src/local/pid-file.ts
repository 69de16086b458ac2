import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError, parseJson, systemCode } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** Digests of what a process was started with, so that a later `up` finds out what has changed. */
export const Fingerprint = z
  .object({ program: z.string(), configuration: z.string(), environment: z.string(), keys: z.string() })
  .readonly();
export type Fingerprint = z.output<typeof Fingerprint>;

/** `identity` is its processIdentity at the start. */
const RunningProcess = z
  .object({
    name: z.string(),
    pid: z.number(),
    identity: z.string(),
    fingerprint: Fingerprint.optional(),
  })
  .readonly();
/** A process that `up` started. */
export type RunningProcess = z.output<typeof RunningProcess>;

const fileOf = (runDir: string, name: string): string => join(runDir, `${name}.json`);

/** Writes the pid file of a process that was just started; undefined when the process has already ended. */
export function recordProcess(
  runDir: string,
  name: string,
  pid: number,
  fingerprint?: Fingerprint,
): RunningProcess | undefined {
  const identity = processIdentity(pid);
  if (identity === undefined) return undefined;
  const running = { name, pid, identity, fingerprint };
  mkdirSync(runDir, { recursive: true, mode: 0o700 });
  const temporary = `${fileOf(runDir, name)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(running)}\n`, { mode: 0o600 });
  renameSync(temporary, fileOf(runDir, name));
  return running;
}

/** The names of all processes with a pid file, whether they run or not. */
export function recordedNames(runDir: string): readonly string[] {
  try {
    return readdirSync(runDir)
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
      .sort();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * The process of this name; undefined when it has ended, even if another process has its pid by now. Throws CONFIG_INVALID for
 * a file that `up` did not write.
 */
export function runningProcess(runDir: string, name: string): RunningProcess | undefined {
  const recorded = readRecord(fileOf(runDir, name));
  if (recorded === undefined) return undefined;
  return isAlive(recorded) ? recorded : undefined;
}

/** True for a process that has ended without a command that stopped it: its pid file is there. */
export function hasDied(runDir: string, name: string): boolean {
  const recorded = readRecord(fileOf(runDir, name));
  return recorded !== undefined && !isAlive(recorded);
}

export function isAlive(running: RunningProcess): boolean {
  return processIdentity(running.pid) === running.identity;
}

export function forgetProcess(runDir: string, name: string): void {
  rmSync(fileOf(runDir, name), { force: true });
}

/** An unreadable pid file must not look like a process that does not run. */
function readRecord(file: string): RunningProcess | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  const { data } = RunningProcess.safeParse(jsonIn(text));
  if (data !== undefined) return data;
  throw new FleetError(
    'CONFIG_INVALID',
    `${file} is not a pid file, so its process may run: end that process (ps shows it), then remove the file`,
  );
}

/** Undefined for text that is no JSON. */
function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

/**
 * Tells a process apart from a later one with the same pid, by the boot id and the start time. Undefined when no such
 * process runs; a zombie counts as ended.
 */
export function processIdentity(pid: number): string | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  return existsSync(BOOT_ID) ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): string | undefined {
  const { state = 'X', startTime } = procStat(pid) ?? {};
  if (startTime === undefined || 'ZX'.includes(state)) return undefined;
  return `${readFileSync(BOOT_ID, 'utf8').trim()}:${startTime}`;
}

/** Reads the state, parent and start of a process (proc_pid_stat(5)); undefined when it has ended, or is another user's and hidden (`hidepid`). */
export function procStat(pid: number) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses, which may contain spaces and parentheses.
    const [state, parent, ...more] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent), startTime: more[17] };
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EPERM', 'EACCES'].includes(systemCode(error) ?? '')) return undefined;
    throw error;
  }
}

function fromPs(pid: number): string | undefined {
  const ps = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    timeout: 5_000,
    // ps prints the start time in the user's language and time zone, and both can change.
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  // On a machine that is too busy for ps, a process that lives must not look like one that has ended.
  if (ps.error) throw ps.error;
  const line = ps.status === 0 ? ps.stdout.trim() : '';
  if (line === '' || line.startsWith('Z')) return undefined;
  return line.replace(/^\S+\s+/, '');
}
