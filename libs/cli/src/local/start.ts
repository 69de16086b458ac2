import { execFile } from 'node:child_process';
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { asset } from '@hermes-fleet/installation';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { ownCommand } from '../command-line/own-command.ts';
import { isAlive, runningProcess } from './pid-file.ts';
import type { FleetPlan, PlannedProcess } from './plan.ts';
import { isTaken, waitUntilReady } from './ready.ts';
import type { Started } from './start-process.ts';

const READY_MS = 60_000;
const TAIL_LINES = 15;

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
  readonly state: 'started' | 'already running' | 'restarted' | 'stopped' | 'failed';
  /** The reason of a failure, and the end of the log; of a restart, what changed; why it was stopped; or why a changed service runs on. */
  readonly reason?: string;
}

export interface StartOptions<P = Pick<FleetPlan, 'runDir'>> {
  readonly plan: P;
  readonly clock: Clock;
  /** Time limit for a process to become ready. */
  readonly readyMs?: number | undefined;
}

/** Starts a process unless it runs, and waits until it is ready. */
export async function ensureRunning(
  { plan, clock, readyMs = READY_MS }: StartOptions,
  planned: PlannedProcess,
  start: () => Started,
): Promise<Outcome & { readonly state: Exclude<Outcome['state'], 'restarted' | 'stopped'> }> {
  const { name, url } = planned;
  const running = runningProcess(plan.runDir, name);
  if (running === undefined && (await isTaken(planned.port, clock))) {
    const owner = await portOwner(planned.port);
    const reason = `cannot start: port ${planned.port} is in use by ${owner}; stop it, or add an offset to every port: FLEET_PORT_OFFSET=1000 ${ownCommand('up')}`;
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
