import { killTree } from './kill-tree.ts';
import type { CommandLine } from './run-command.ts';

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

/** Watches over a long-running process, as `runCommand` does over a command. */
export function supervise(line: CommandLine): Supervision {
  const record = line.records?.open(line.markGid);
  const marks = { gid: line.markGid, env: record?.mark };
  const group = line.group?.();
  let monitored: Disposable | undefined;
  let tell: ((limit: string) => void) | undefined;
  return {
    env: record?.env ?? {},
    started(pid, end) {
      record?.started(pid);
      monitored = line.monitor?.({ pid, marks, end });
      tell = end;
    },
    kill: (pid) => killTree(pid, marks),
    [Symbol.dispose]() {
      monitored?.[Symbol.dispose]();
      const endedFor = group?.endedFor();
      if (endedFor !== undefined) tell?.(endedFor);
      group?.[Symbol.dispose]();
      record?.[Symbol.dispose]();
    },
  };
}
