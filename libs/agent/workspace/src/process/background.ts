import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { outputRead } from './output-read.ts';
import { RecentOutput } from './recent-output.ts';
import type { CommandLine } from './run-command.ts';
import { type Supervision, supervise } from './supervise.ts';
import { capacityOf } from './system-error.ts';

export interface BackgroundOptions {
  readonly cwd: string;
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes kept of the output, standard output and standard error together. */
  readonly keepBytes: number;
  readonly clock: Clock;
}

/** How a background process ended. */
export interface BackgroundEnd {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  /** The limit that a monitor ended it for. */
  readonly limit?: string | undefined;
}

/** A process that runs on while other work is done. */
export interface BackgroundProcess {
  readonly output: RecentOutput;
  /** Undefined while it runs. */
  end(): BackgroundEnd | undefined;
  /** Resolves when it prints something, when it has ended, after `ms`, or on abort. */
  change(ms: number, signal: AbortSignal): Promise<void>;
  /** Kills it with everything that it started; resolves when it is gone. */
  stop(): Promise<void>;
}

/**
 * Starts a process in a process group of its own, recorded and monitored as commands are. Whatever it started is killed when
 * it ends. Its opener stops it. Throws CAPACITY when the machine has no room for another process.
 */
export async function startBackground(
  line: CommandLine,
  options: BackgroundOptions,
): Promise<BackgroundProcess> {
  const output = new RecentOutput(options.keepBytes);
  const watched = superviseOrCapacity(line);
  let ended: BackgroundEnd | undefined;
  let limit: string | undefined;
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  let pid: number | undefined;
  const child = await startIn(watched, line, options, (started) => {
    pid = started;
    watched.started(started, exceeded);
  });
  const closed = once(child, 'close');
  closed.catch(() => {});
  function exceeded(what: string): void {
    limit ??= what;
    kill();
  }
  function kill(): void {
    if (pid !== undefined) watched.kill(pid);
  }
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output.push(chunk);
      wake();
    });
  const gone = settle();

  async function settle(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    kill();
    await outputRead(closed, options.clock);
    child.stdout.destroy();
    child.stderr.destroy();
    watched[Symbol.dispose]();
    ended = { exitCode: child.exitCode, limit };
    wake();
  }

  return {
    output,
    end: () => ended,
    async change(ms, signal) {
      if (ended !== undefined || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const done = (): void => resolve();
      waiting.push(done);
      using _timer = options.clock.timer(done, ms);
      signal.addEventListener('abort', done, { once: true });
      await promise;
      signal.removeEventListener('abort', done);
      waiting = waiting.filter((other) => other !== done);
    },
    async stop() {
      kill();
      await gone;
    },
  };
}

function superviseOrCapacity(line: CommandLine): Supervision {
  try {
    return supervise(line);
  } catch (error) {
    throw capacityOf(error) ?? error;
  }
}

async function startIn(
  watched: Supervision,
  line: CommandLine,
  options: BackgroundOptions,
  onPid: (pid: number) => void,
) {
  try {
    const child = spawn(line.command, line.args, {
      cwd: options.cwd,
      env: { ...options.env, ...watched.env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // At once, so that a crash leaves no process without a record.
    if (child.pid !== undefined) onPid(child.pid);
    await once(child, 'spawn');
    return child;
  } catch (error) {
    watched[Symbol.dispose]();
    throw capacityOf(error) ?? error;
  }
}
