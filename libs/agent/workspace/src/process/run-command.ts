import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { CapturedOutput } from './captured-output.ts';
import { COMMAND_ENV } from './command-env.ts';
import type { CommandRecords } from './command-records.ts';
import type { Marks } from './kill-tree.ts';
import { type StartOptions, startSupervised } from './supervise.ts';
import { capacityError, isStartFailure } from './system-error.ts';

/** The command line that is executed. `markGid` is the group id that marks its processes, if any. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  readonly markGid?: number;
  /** Records the command while it runs. */
  readonly records?: CommandRecords;
  /** Watches the command while it runs. */
  readonly monitor?: CommandMonitor;
  /** Makes the control group that the command line enters, if there can be one. */
  readonly group?: () => CommandGroup | undefined;
}

/** The control group of one command; disposed of when all its processes have been killed. */
export interface CommandGroup extends Disposable {
  /** Which limit the kernel ended the command for; undefined when it did not. */
  endedFor(): string | undefined;
}

/** A command that a monitor watches. */
export interface RunningCommand {
  readonly pid: number;
  readonly marks: Marks;
  /** Ends the command; `limit` says which limit it exceeded. */
  end(limit: string): void;
}

/** Watches a command until the result is disposed of. */
export type CommandMonitor = (command: RunningCommand) => Disposable;

export interface RunOptions extends Pick<StartOptions, 'stdin' | 'clock'> {
  /** Default: the root of the file system. */
  readonly cwd?: string;
  /** The complete environment; nothing is inherited. Default: COMMAND_ENV. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Bytes kept of each stream; the rest is counted and dropped. Default: 4096. */
  readonly keepBytes?: number;
  /** The command is killed when a stream exceeds this. Default: 1 MiB. */
  readonly maxBytes?: number;
  /** Receives all of standard output as it arrives. */
  readonly onStdout?: (chunk: Buffer) => void;
}

export interface CommandResult {
  /** Null when a signal ended the command. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly killed: 'timeout' | 'output' | 'limit' | undefined;
  /** The limit that a monitor or the kernel ended the command for. */
  readonly limit?: string | undefined;
  /** The signal that ended the command, if any. */
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs a command in its own process group and resolves when all its processes are gone. The whole process tree is
 * killed on timeout, on too much output, on abort (which rejects with the signal's reason), and after the command's
 * exit, for background processes that it left. Rejects when the command cannot be started: with CAPACITY when the machine
 * has no room for another process.
 */
export async function runCommand(line: CommandLine, options: RunOptions): Promise<CommandResult> {
  const {
    cwd = '/',
    env = COMMAND_ENV,
    keepBytes = KEEP_BYTES,
    maxBytes = MAX_BYTES,
    signal,
    clock,
  } = options;
  signal?.throwIfAborted();
  let killed: CommandResult['killed'];
  let limit: string | undefined;
  const note = (reason: CommandResult['killed'], exceeded?: string): void => {
    if (killed === undefined) [killed, limit] = [reason, exceeded];
  };
  const { child, kill, ended } = await startSupervised(line, { ...options, cwd, env }, (exceeded) =>
    note('limit', exceeded),
  );
  const killFor = (reason: CommandResult['killed']): void => {
    note(reason);
    kill();
  };
  const capture = (stream: Readable | null): CapturedOutput => {
    const output = new CapturedOutput(keepBytes);
    stream?.on('data', (chunk: Buffer) => {
      output.push(chunk);
      if (output.totalBytes > maxBytes) killFor('output');
    });
    return output;
  };
  if (options.onStdout !== undefined) child.stdout?.on('data', options.onStdout);
  const [stdout, stderr] = [capture(child.stdout), capture(child.stderr)];
  using _timer = clock.timer(() => killFor('timeout'), options.timeoutMs);
  using _aborted = signal && addAbortListener(signal, kill);
  await ended();
  signal?.throwIfAborted();
  const result = { exitCode: child.exitCode, signal: child.signalCode, stderr: stderr.text() };
  if (killed === undefined && stdout.totalBytes === 0 && isStartFailure(result))
    throw capacityError(result.stderr.trim());
  return { ...result, stdout: stdout.text(), killed, limit };
}

const KEEP_BYTES = 4096;
const MAX_BYTES = 1024 * 1024;
