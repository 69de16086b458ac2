import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '@hermes-fleet/protocol';
import { CapturedOutput } from './captured-output.ts';
import type { CommandRecords } from './command-records.ts';
import { killTree } from './kill-tree.ts';

/** The command line that is executed. `markGid` is the group id that marks its processes, if any. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  readonly markGid?: number;
  /** Records the command while it runs. */
  readonly records?: CommandRecords;
}

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
  readonly killed: 'timeout' | 'output' | undefined;
}

/** Maximum wait for the streams of a command to close after its exit. */
const CLOSE_MS = 2000;

/**
 * * Runs a command in its own process group and resolves when all its processes are gone. The whole process tree is
 * killed on timeout, on too much output, on abort (which rejects with the signal's reason), and after the command's
 * exit, for background processes that it left. Rejects when the command cannot be started.
 */
export async function runCommand(line: CommandLine, options: RunOptions): Promise<CommandResult> {
  options.signal?.throwIfAborted();
  using record = line.records?.open(line.markGid);
  const child = spawn(line.command, line.args, {
    cwd: options.cwd,
    env: { ...options.env, ...record?.env },
    detached: true,
    stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) record?.started(child.pid);
  const closed = once(child, 'close');
  closed.catch(() => {});
  await once(child, 'spawn');
  const stop = (): void => {
    if (child.pid !== undefined) killTree(child.pid, { gid: line.markGid, env: record?.mark });
  };
  let killed: CommandResult['killed'];
  const killFor = (reason: CommandResult['killed']) => (): void => {
    killed ??= reason;
    stop();
  };
  if (options.onStdout !== undefined) child.stdout?.on('data', options.onStdout);
  const stdout = capture(child, 'stdout', options, killFor('output'));
  const stderr = capture(child, 'stderr', options, killFor('output'));
  using _timer = options.clock.timer(killFor('timeout'), options.timeoutMs);
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    if (options.signal?.aborted) stop();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    stop();
    await within(closed, CLOSE_MS, options.clock);
  } finally {
    options.signal?.removeEventListener('abort', stop);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
  options.signal?.throwIfAborted();
  return { exitCode: child.exitCode, stdout: stdout.text(), stderr: stderr.text(), killed };
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

/** Waits for `work`, for at most `ms` milliseconds. */
async function within(work: Promise<unknown>, ms: number, clock: Clock): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([work, clock.sleep(ms, done.signal).catch(() => {})]);
  } finally {
    done.abort();
  }
}
