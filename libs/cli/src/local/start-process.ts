import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Fingerprint, recordProcess } from './pid-file.ts';
import type { PlannedProcess } from './plan.ts';

/** A larger log is rotated at the next start; one old log is kept. */
const MAX_LOG_BYTES = 20 * 1024 * 1024;

/** How a process is started. */
export interface ProcessCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Recorded in the pid file. */
  readonly fingerprint?: Fingerprint | undefined;
  /** Its standard input; nothing without it. */
  readonly input?: string;
}

export interface Started {
  readonly pid: number;
  /** Aborts when the process ends before `release`; the reason is a message. */
  readonly ended: AbortSignal;
  /** Stops watching the process, which keeps running. */
  release(): void;
}

/** Starts a process that outlives this one, appends its output to its log, and writes its pid file. Kills it if that cannot be written. */
export function startProcess(
  runDir: string,
  { name, logFile }: Pick<PlannedProcess, 'name' | 'logFile'>,
  command: ProcessCommand,
): Started {
  const log = openLog(logFile);
  const ended = new AbortController();
  let child: ChildProcess;
  try {
    child = spawn(command.file, [...command.args], {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: [command.input === undefined ? 'ignore' : 'pipe', log, log],
    });
  } finally {
    closeSync(log);
  }
  child.once('error', (error) => ended.abort(`could not be started: ${error.message}`));
  child.once('exit', (code, signal) =>
    ended.abort(`ended ${signal ? `by ${signal}` : `with exit code ${code}`}`),
  );
  // A process that ends before it has read its input says why in its log.
  child.stdin?.once('error', () => undefined);
  if (child.pid !== undefined) recordOrKill(runDir, name, child.pid, command.fingerprint);
  child.stdin?.end(command.input);
  return { pid: child.pid ?? 0, ended: ended.signal, release: () => child.unref() };
}

/** A process without a pid file would be seen by no later command. */
function recordOrKill(runDir: string, name: string, pid: number, fingerprint: Fingerprint | undefined): void {
  try {
    recordProcess(runDir, name, pid, fingerprint);
  } catch (error) {
    process.kill(-pid, 'SIGKILL');
    throw error;
  }
}

function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (existsSync(file) && statSync(file).size > MAX_LOG_BYTES) renameSync(file, `${file}.1`);
  const handle = openSync(file, 'a', 0o600);
  chmodSync(file, 0o600);
  return handle;
}
