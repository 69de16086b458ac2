import { type ChildProcess, spawn } from 'node:child_process';
import { addAbortListener, once } from 'node:events';
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { CapturedOutput } from './captured-output.ts';
import { COMMAND_ENV } from './command-env.ts';
import type { CommandRecords } from './command-records.ts';
import { killTree, type Marks } from './kill-tree.ts';
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

/** A long-running process with everything that it starts. Disposed of when all of them have ended. */
export interface Supervision extends Disposable {
  /** Added to the environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Records the process, so that the next start ends it if this gateway is killed, and starts the monitors of its line. They
   * call `end` with the limit that it exceeded. So does the disposal, when the kernel ended it for one.
   */
  started(pid: number, end: (limit: string) => void): void;
  /** Kills the process, its group, its descendants and all processes with its marks. */
  kill(pid: number): void;
}

/** Watches over a process that its caller starts. */
export function supervise(line: CommandLine): Supervision {
  const watched = new DisposableStack();
  const record = watched.use(line.records?.openRecord(line.markGid));
  const group = watched.use(line.group?.());
  const marks = { gid: line.markGid, env: record?.mark };
  let tell: ((limit: string) => void) | undefined;
  watched.defer(() => {
    const endedFor = group?.endedFor();
    if (endedFor !== undefined) tell?.(endedFor);
  });
  return {
    env: record?.env ?? {},
    started(pid, end) {
      record?.started(pid);
      tell = end;
      watched.use(line.monitor?.({ pid, marks, end }));
    },
    kill: (pid) => killTree(pid, marks),
    [Symbol.dispose]: () => watched.dispose(),
  };
}

/** A process in a process group of its own, which is supervised. */
export interface Supervised {
  readonly child: ChildProcess;
  /** Kills it with everything that it started; does nothing once it has ended. */
  kill(): void;
  /** Resolves when it has ended and its output is read. Whatever it started has been killed then. */
  ended(): Promise<void>;
}

export interface StartOptions {
  readonly cwd: string;
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** File descriptor for standard input; default: none. */
  readonly stdin?: number | undefined;
  readonly clock: Clock;
}

/**
 * Starts a process and watches over it until it has ended. Kills it for a limit that it exceeds, and calls `exceeded` with that.
 * Throws CAPACITY when the machine has no room for another process.
 */
export async function startSupervised(
  line: CommandLine,
  options: StartOptions,
  exceeded: (limit: string) => void,
): Promise<Supervised> {
  try {
    using starting = new DisposableStack();
    const watched = starting.use(supervise(line));
    const child = spawn(line.command, line.args, {
      cwd: options.cwd,
      env: { ...options.env, ...watched.env },
      detached: true,
      stdio: [options.stdin ?? 'ignore', 'pipe', 'pipe'],
    });
    const { pid } = child;
    let isOver = false;
    const kill = (): void => {
      if (pid !== undefined && !isOver) watched.kill(pid);
    };
    const endFor = (limit: string): void => {
      exceeded(limit);
      kill();
    };
    // At once, so that a crash leaves no process without a record.
    if (pid !== undefined) watched.started(pid, endFor);
    await once(child, 'spawn');
    const closed = once(child, 'close');
    closed.catch(() => {});
    const started = starting.move();
    return {
      child,
      kill,
      async ended() {
        try {
          if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
          kill();
          await outputRead(closed, options.clock);
        } finally {
          child.stdout?.destroy();
          child.stderr?.destroy();
          isOver = true;
          started.dispose();
        }
      },
    };
  } catch (error) {
    throw capacityOf(error) ?? error;
  }
}

/** How long the pipes of an ended command may stay open: a process that escaped it may hold them. */
const CLOSE_MS = 2000;
/** Turns of the event loop in which Node reads what the pipes hold. */
const LAST_TURNS = 2;

/**
 * Waits until the pipes of an ended command are closed, for at most two seconds. What they hold is read in any case: where
 * the event loop has stalled, that time may be over before anything was read.
 */
export async function outputRead(closed: Promise<unknown>, clock: Pick<Clock, 'sleep'>): Promise<void> {
  const waited = new AbortController();
  const isLate = () => true;
  const late = clock.sleep(CLOSE_MS, waited.signal).then(isLate, isLate);
  try {
    if (!(await Promise.race([closed.then(() => false), late]))) return;
    for (let turn = 0; turn < LAST_TURNS; turn += 1) await nextTurn();
  } finally {
    waited.abort();
  }
}

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
