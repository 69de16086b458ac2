import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { isAlive, recordProcess, runningProcess } from './pid-file.ts';
import type { FleetPlan, PlannedProcess } from './plan.ts';
import { isTaken, waitUntilReady } from './ready.ts';

const READY_MS = 60_000;
const TAIL_LINES = 15;

/** A larger log is rotated at the next start; one old log is kept. */
const MAX_LOG_BYTES = 20 * 1024 * 1024;

export interface Started {
  readonly pid: number;
  /** Aborts when the process ends before `release`; the reason is a message. */
  readonly ended: AbortSignal;
  /** Stops watching the process, which keeps running. */
  release(): void;
}

/** Starts a process that outlives this one, appends its output to its log, and writes its pid file. */
export function startProcess(
  runDir: string,
  planned: PlannedProcess,
  command: {
    readonly file: string;
    readonly args: readonly string[];
    readonly env: NodeJS.ProcessEnv;
    readonly cwd: string;
  },
): Started {
  const log = openLog(planned.logFile);
  const ended = new AbortController();
  let child: ChildProcess;
  try {
    child = spawn(command.file, [...command.args], {
      cwd: command.cwd,
      env: command.env,
      detached: true,
      stdio: ['ignore', log, log],
    });
  } finally {
    closeSync(log);
  }
  child.once('error', (error) => ended.abort(`could not be started: ${error.message}`));
  child.once('exit', (code, signal) =>
    ended.abort(`ended ${signal ? `by ${signal}` : `with exit code ${code}`}`),
  );
  if (child.pid !== undefined) recordProcess(runDir, planned.name, child.pid);
  return { pid: child.pid ?? 0, ended: ended.signal, release: () => child.unref() };
}

function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  if (existsSync(file) && statSync(file).size > MAX_LOG_BYTES) renameSync(file, `${file}.1`);
  const handle = openSync(file, 'a', 0o600);
  chmodSync(file, 0o600);
  return handle;
}

/** The last lines of a log, at most 8 KiB. */
function logTail(file: string, lines: number): string {
  const bytes = 8192;
  if (!existsSync(file)) return '';
  const { size } = statSync(file);
  const buffer = Buffer.alloc(Math.min(bytes, size));
  const handle = openSync(file, 'r');
  try {
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
  } finally {
    closeSync(handle);
  }
  return buffer.toString('utf8').trimEnd().split('\n').slice(-lines).join('\n');
}

export interface Outcome {
  readonly name: string;
  readonly url: string;
  readonly state: 'started' | 'already running' | 'failed';
  /** The reason of a failure, and the end of the log. */
  readonly reason?: string;
}

/** Starts a process unless it runs, and waits until it is ready. */
export async function ensureRunning(
  {
    plan,
    clock,
    readyMs = READY_MS,
  }: {
    readonly plan: Pick<FleetPlan, 'runDir'>;
    readonly clock: Clock;
    readonly readyMs?: number | undefined;
  },
  planned: PlannedProcess,
  start: () => Started,
): Promise<Outcome> {
  const { name, url } = planned;
  const running = runningProcess(plan.runDir, name);
  if (running === undefined && (await isTaken(planned.port, clock))) {
    const owner = await portOwner(planned.port);
    const reason = `cannot start: port ${planned.port} is in use by ${owner}; stop it, or add an offset to every port: FLEET_PORT_OFFSET=1000 make up`;
    return { name, url, state: 'failed', reason };
  }
  const started = running === undefined ? start() : undefined;
  const gone = new AbortController();
  using _watch = running && watchPid(() => isAlive(running), gone);
  const reason = await waitUntilReady(planned.readyUrl, readyMs, started?.ended ?? gone.signal, clock);
  started?.release();
  if (reason === undefined) return { name, url, state: started ? 'started' : 'already running' };
  const tail = logTail(planned.logFile, TAIL_LINES);
  const logged = tail === '' ? '' : `\n--- ${planned.logFile}\n${tail}`;
  return { name, url, state: 'failed', reason: reason + logged };
}

/** Aborts `gone` when a process that is not our child, and so has no exit event, ends. */
function watchPid(alive: () => boolean, gone: AbortController): Disposable {
  const timer = setInterval(() => {
    if (!alive()) gone.abort('has ended');
  }, 200);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const LOOK_MS = 5_000;

/**
 * Who has a TCP port of this machine, to follow the words "in use by": a container with its checkout, or a program with its
 * pid and folder. "another program" where the machine does not show it within 5 s.
 */
export function portOwner(port: number): Promise<string> {
  const script = asset('port-owner.sh');
  return new Promise((resolve) => {
    execFile('sh', [script, String(port)], { timeout: LOOK_MS }, (_, stdout) =>
      resolve(stdout.trim() || 'another program'),
    );
  });
}
