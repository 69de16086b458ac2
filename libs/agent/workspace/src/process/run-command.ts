import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { CapturedOutput } from './captured-output.ts';
import type { CommandRecords } from './command-records.ts';
import { killTree, type Marks } from './kill-tree.ts';
import { outputRead } from './output-read.ts';
import { capacityError, capacityOf, isStartFailure } from './system-error.ts';

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

export interface RunOptions {
  readonly cwd: string;
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Bytes kept of each stream; the rest is counted and dropped. */
  readonly keepBytes: number;
  /** The command is killed when a stream exceeds this. */
  readonly maxBytes: number;
  /** File descriptor for standard input; default: none. */
  readonly stdin?: number;
  /** Receives all of standard output as it arrives. */
  readonly onStdout?: (chunk: Buffer) => void;
  readonly clock: Clock;
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
  options.signal?.throwIfAborted();
  using record = orCapacity(() => line.records?.open(line.markGid));
  using group = line.group?.();
  const child = orCapacity(() =>
    spawn(line.command, line.args, {
      cwd: options.cwd,
      env: { ...options.env, ...record?.env },
      detached: true,
      stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
    }),
  );
  if (child.pid !== undefined) record?.started(child.pid);
  const closed = once(child, 'close');
  closed.catch(() => {});
  const pid = await started(child);
  const marks: Marks = { gid: line.markGid, env: record?.mark };
  const stop = (): void => killTree(pid, marks);
  let killed: CommandResult['killed'];
  let limit: string | undefined;
  const killFor = (reason: CommandResult['killed']) => (): void => {
    killed ??= reason;
    stop();
  };
  if (options.onStdout !== undefined) child.stdout?.on('data', options.onStdout);
  const stdout = capture(child, 'stdout', options, killFor('output'));
  const stderr = capture(child, 'stderr', options, killFor('output'));
  using _timer = options.clock.timer(killFor('timeout'), options.timeoutMs);
  using _monitored = line.monitor?.({
    pid,
    marks,
    end(exceeded) {
      if (killed !== undefined) return;
      limit = exceeded;
      killFor('limit')();
    },
  });
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    if (options.signal?.aborted) stop();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    stop();
    await outputRead(closed, options.clock);
  } finally {
    options.signal?.removeEventListener('abort', stop);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  options.signal?.throwIfAborted();
  const endedFor = killed === undefined ? group?.endedFor() : undefined;
  if (endedFor !== undefined) [killed, limit] = ['limit', endedFor];
  const result = { exitCode: child.exitCode, signal: child.signalCode, stderr: stderr.text() };
  if (killed === undefined && stdout.totalBytes === 0 && isStartFailure(result))
    throw capacityError(result.stderr.trim());
  return { ...result, stdout: stdout.text(), killed, limit };
}

/** Starts something; an error for want of processes, memory or file descriptors becomes CAPACITY. */
function orCapacity<T>(start: () => T): T {
  try {
    return start();
  } catch (error) {
    throw capacityOf(error) ?? error;
  }
}

/** The pid of a child that runs. */
async function started(child: ChildProcess): Promise<number> {
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw capacityOf(error) ?? error;
  }
  if (child.pid === undefined) throw new Error('a started command has no pid');
  return child.pid;
}

function capture(
  child: ChildProcess,
  name: 'stdout' | 'stderr',
  options: RunOptions,
  onOverflow: () => void,
): CapturedOutput {
  const output = new CapturedOutput(options.keepBytes);
  child[name]?.on('data', (chunk: Buffer) => {
    output.push(chunk);
    if (output.totalBytes > options.maxBytes) onOverflow();
  });
  return output;
}
