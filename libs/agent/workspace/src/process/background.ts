import { addAbortListener } from 'node:events';
import { RecentOutput } from './recent-output.ts';
import { type CommandLine, type CommandResult, type StartOptions, startSupervised } from './run-command.ts';

/** A process that runs on while other work is done. */
export type BackgroundProcess = Awaited<ReturnType<typeof startBackground>>;

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
) {
  const output = new RecentOutput(options.keepBytes);
  let ended: Pick<CommandResult, 'exitCode' | 'limit'> | undefined;
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
    /** Undefined while it runs. */
    end: () => ended,
    /** Resolves when it prints something, when it has ended, after `ms`, or on abort. */
    async change(ms: number, signal: AbortSignal): Promise<void> {
      if (ended !== undefined || signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const done = (): void => resolve();
      waiting.push(done);
      using _timer = options.clock.timer(done, ms);
      using _aborted = addAbortListener(signal, done);
      await promise;
      waiting = waiting.filter((other) => other !== done);
    },
    /** Kills it with everything that it started; resolves when it is gone. */
    async stop(): Promise<void> {
      kill();
      await gone;
    },
  };
}
