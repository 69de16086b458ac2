import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { type Stopped, stopProcess } from '../local/down.ts';
import type { EntryPoint } from '../local/entry-point.ts';
import { forgetProcess, isAlive, recordProcess, runningProcess } from '../local/pid-file.ts';
import { isTaken } from '../local/ready.ts';
import { ensureRunning } from '../local/start.ts';
import { startProcess } from '../local/start-process.ts';
import type { WorkerHome } from './worker-home.ts';

const GRACE_MS = 25_000;

/** A gateway that serves. */
export interface RunningGateway {
  readonly pid: number;
  readonly state: 'started' | 'already running';
  /** Resolves with its exit code; undefined for a gateway in the background. */
  readonly exit: Promise<number> | undefined;
  /** Ends a gateway in the foreground, as its command fails; one in the background runs on. */
  stop(): Promise<void>;
}

/**
 * Starts the gateway of a worker, in the background as `fleet up` does, or in the foreground, where it takes over the
 * output and gets the signals of this process. Resolves when it serves. Throws BIND_FAILED, CONFIG_INVALID, and
 * PROFILE_ALREADY_SERVED where one runs that is to be in the foreground.
 */
export async function runGateway(
  home: WorkerHome,
  { command, env, cwd }: EntryPoint,
  { foreground, clock }: { readonly foreground: boolean; readonly clock: Clock },
): Promise<RunningGateway> {
  const { gateway, runDir } = home;
  adoptGateway(home);
  const known = runningProcess(runDir, gateway.name);
  if (known && foreground)
    throw new FleetError('PROFILE_ALREADY_SERVED', `${gateway.name} runs already, as process ${known.pid}`);
  if (!known && (await isTaken(gateway.port, clock)))
    throw new FleetError(
      'BIND_FAILED',
      `port ${gateway.port} is in use by another process: stop it, and join again`,
    );
  let here: ReturnType<typeof startHere> | undefined;
  const { state, reason } = await ensureRunning({ plan: { runDir }, clock }, gateway, () => {
    if (!foreground)
      return startProcess(runDir, gateway, { file: process.execPath, args: command, env, cwd });
    here = startHere(home, { command, env, cwd });
    return here;
  });
  if (state === 'failed')
    throw new FleetError('CONFIG_INVALID', `${gateway.name} has joined, but does not serve: it ${reason}`);
  const pid = here?.pid ?? runningProcess(runDir, gateway.name)?.pid ?? 0;
  return { pid, state, exit: here?.exit, stop: async () => here?.stop() };
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

/** Stops the gateway of the worker; resolves with how it ended. */
export async function stopGateway(home: WorkerHome, clock: Clock): Promise<Stopped['state']> {
  adoptGateway(home);
  return (await stopProcess(home.runDir, home.gateway.name, GRACE_MS, clock)).state;
}

/**
 * Records the gateway of this worker that an earlier call started without recording it, because it was killed in between.
 * Such a process is found, on Linux, by its arguments and by the state directory in its environment.
 */
function adoptGateway({ runDir, stateDir, gateway: { name } }: WorkerHome): void {
  if (runningProcess(runDir, name)) return;
  const pid = processes().find(
    (each) =>
      wordsOf(each, 'environ').includes(`HERMES_STATE_DIR=${stateDir}`) &&
      isGateway(wordsOf(each, 'cmdline'), name),
  );
  if (pid !== undefined) recordProcess(runDir, name, Number(pid));
}

/** `node … <the program of profiles> --profile <name>`, from a checkout or a package, and not with `--doctor`. */
function isGateway(words: readonly string[], name: string): boolean {
  const at = words.findIndex((word) =>
    /\/(?:services\/profile\/src\/main\.ts|dist\/profile\.js)$/.test(word),
  );
  return at > 0 && words[at + 1] === '--profile' && words[at + 2] === name && words.length === at + 3;
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  } catch {
    return [];
  }
}

/** The command line of a process; empty for one that has ended, or is another user's. */
function wordsOf(pid: string, file: 'cmdline' | 'environ'): string[] {
  try {
    return readFileSync(join('/proc', pid, file), 'utf8')
      .split('\0')
      .slice(0, -1);
  } catch {
    return [];
  }
}
