import { killTree } from './kill-tree.ts';
import type { CommandLine } from './run-command.ts';

/** A long-running process with everything that it starts. Disposed of when all of them have ended. */
export interface Supervision extends Disposable {
  /** Added to the environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Records the process, so that the next start ends it if this gateway is killed. */
  started(pid: number): void;
  /** Kills the process, its group, its descendants and all processes with its marks. */
  kill(pid: number): void;
}

/** Watches over a long-running process, as `runCommand` does over a command. */
export function supervise(line: CommandLine): Supervision {
  const record = line.records?.open(line.markGid);
  return {
    env: record?.env ?? {},
    started: (pid) => record?.started(pid),
    kill: (pid) => killTree(pid, { gid: line.markGid, env: record?.mark }),
    [Symbol.dispose]: () => record?.[Symbol.dispose](),
  };
}
