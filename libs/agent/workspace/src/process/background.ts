import { RecentOutput } from './recent-output.ts';
import type { CommandLine } from './run-command.ts';
import { type StartOptions, startSupervised } from './supervise.ts';

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
  options: Omit<StartOptions, 'stdin'> & {
    /** Bytes kept of the output, standard output and standard error together. */
    readonly keepBytes: number;
  },
): Promise<BackgroundProcess> {
  const output = new RecentOutput(options.keepBytes);
  let ended: BackgroundEnd | undefined;
  let limit: string | undefined;
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  const { child, kill, ...running } = await startSupervised(line, options, (what) => {
    limit ??= what;
  });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output.push(chunk);
      wake();
    });
  const gone = running.ended().then(() => {
    ended = { exitCode: child.exitCode, limit };
    wake();
  });

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
