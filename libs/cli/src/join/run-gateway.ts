import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { EntryPoint } from '../local/entry-point.ts';
import { forgetProcess, isAlive, recordProcess, runningProcess } from '../local/pid-file.ts';
import { isTaken, waitUntilReady } from '../local/ready.ts';
import { logTail, startProcess } from '../local/start.ts';
import { adoptGateway } from './adopt-gateway.ts';
import type { WorkerHome } from './worker-home.ts';

const READY_MS = 60_000;
const TAIL_LINES = 15;

/** A gateway that serves. */
export interface RunningGateway {
  readonly pid: number;
  readonly state: 'started' | 'already running';
  /** Resolves with its exit code; undefined for a gateway in the background. */
  readonly exit: Promise<number> | undefined;
  /** Ends a gateway in the foreground, as its command fails; one in the background runs on. */
  stop(): Promise<void>;
}

const runsOn = async (): Promise<void> => undefined;

/**
 * Starts the gateway of a worker, in the background as `fleet local up` does, or in the foreground, where it takes over the
 * output and gets the signals of this process. Resolves when it serves. Throws BIND_FAILED and CONFIG_INVALID.
 */
export async function runGateway(
  home: WorkerHome,
  entryPoint: EntryPoint,
  { foreground, clock }: { readonly foreground: boolean; readonly clock: Clock },
): Promise<RunningGateway> {
  const { gateway, runDir } = home;
  adoptGateway(home);
  const known = runningProcess(runDir, gateway.name);
  if (known) {
    if (foreground)
      throw new FleetError('PROFILE_ALREADY_SERVED', `${gateway.name} runs already, as process ${known.pid}`);
    const ready = await waitUntilReady({
      url: gateway.readyUrl,
      deadlineMs: READY_MS,
      ended: new AbortController().signal,
      clock,
    });
    if (ready !== undefined) throw notServing(home, ready);
    return { pid: known.pid, state: 'already running', exit: undefined, stop: runsOn };
  }
  if (await isTaken(gateway.port, clock))
    throw new FleetError(
      'BIND_FAILED',
      `port ${gateway.port} is in use by another process: stop it, and join again`,
    );
  const started = foreground ? startHere(home, entryPoint) : startBehind(home, entryPoint);
  const reason = await waitUntilReady({
    url: gateway.readyUrl,
    deadlineMs: READY_MS,
    ended: started.ended,
    clock,
  });
  if (reason !== undefined) throw notServing(home, reason);
  started.release();
  return started;
}

function notServing({ gateway: { name, logFile } }: WorkerHome, reason: string): FleetError {
  const tail = logTail(logFile, TAIL_LINES);
  const shown = tail === '' ? '' : `\n--- ${logFile}\n${tail}`;
  return new FleetError('CONFIG_INVALID', `${name} has joined, but does not serve: it ${reason}${shown}`);
}

function startBehind(home: WorkerHome, { command, env, cwd }: EntryPoint) {
  const started = startProcess(home.runDir, home.gateway, {
    file: process.execPath,
    args: command,
    env,
    cwd,
  });
  return { ...started, state: 'started' as const, exit: undefined, stop: runsOn };
}

function startHere({ runDir, gateway }: WorkerHome, { command, env, cwd }: EntryPoint) {
  const child = spawn(process.execPath, [...command], { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (child.pid !== undefined) recordProcess(runDir, gateway.name, child.pid);
  const ended = new AbortController();
  const exit = exitOf(child).finally(() => {
    forgetProcess(runDir, gateway.name);
    ended.abort('ended');
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  return {
    pid: child.pid ?? 0,
    state: 'started' as const,
    ended: ended.signal,
    exit,
    async stop() {
      child.kill('SIGTERM');
      await exit;
    },
    release: () => undefined,
  };
}

async function exitOf(child: ChildProcess): Promise<number> {
  const [code] = await once(child, 'exit');
  return typeof code === 'number' ? code : 1;
}

/** True while the gateway of the worker runs. */
export function runs(home: WorkerHome): boolean {
  adoptGateway(home);
  const { runDir, gateway } = home;
  const known = runningProcess(runDir, gateway.name);
  return known !== undefined && isAlive(known);
}
