import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { processIdentity } from './process-identity.ts';

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
