import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { killTree } from './kill-tree.ts';
import type { CommandLine } from './run-command.ts';
import { capacityOf } from './system-error.ts';

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
