/** A command line with its confinement. */
export interface ServerLine {
  readonly command: string;
  readonly args: readonly string[];
}

/** Where a server runs, and how it is confined to that place. */
export interface ServerPlace {
  readonly dir: string;
  wrap(command: string, args: readonly string[]): ServerLine;
}

/** Finds the processes of one server, from its start until all of them have ended. */
export interface Supervision extends Disposable {
  /** Added to the environment of the server. */
  readonly env: Readonly<Record<string, string>>;
  /** Watches the limits of the server's line, if it has any. `end` ends the server, and is told which limit it exceeded. */
  started(pid: number, end: (limit: string) => void): void;
  /** Kills the server and everything that it started. */
  kill(pid: number): void;
}

export type Supervise = (line: ServerLine) => Supervision;

/** Kills the process group of a server. */
export const superviseGroup: Supervise = () => ({
  env: {},
  started() {},
  kill(pid) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  },
  [Symbol.dispose]() {},
});

/** True when a signal found no process. */
export const isGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ESRCH';
