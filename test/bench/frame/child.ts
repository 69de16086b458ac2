import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

const STOP_MS = 10_000;

export interface ChildOptions {
  /** Program and arguments. */
  readonly command: readonly string[];
  readonly cwd?: string;
  /** The environment; that of this process by default. */
  readonly env?: NodeJS.ProcessEnv;
  readonly stdio: StdioOptions;
  /** What to do if the program is not installed. */
  readonly hint?: string;
}

/** A process that never outlives this one, unless this one is killed by SIGKILL. */
export interface Child extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Why it does not run; undefined while it does. */
  end(): string | undefined;
  /** Resolves with the reason when it ends or could not start. */
  readonly ended: Promise<string>;
}

/**
 * Starts a program. Disposing of it sends SIGTERM, after 10 s SIGKILL, and waits for its end. When this process exits
 * early, the program gets SIGKILL.
 */
export function startChild({ command, cwd, env, stdio, hint }: ChildOptions): Child {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { cwd, env: env ?? process.env, stdio });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  let end: string | undefined;
  const ended = once(child, 'exit')
    .then(
      ([code, signal]) => `${file} ended with ${code ?? signal}`,
      (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT'
          ? `${file} is not installed${hint === undefined ? '' : `: ${hint}`}`
          : `${file} cannot start: ${error.message}`,
    )
    .then((reason) => {
      process.off('exit', kill);
      end = reason;
      return reason;
    });
  return {
    process: child,
    end: () => end,
    ended,
    async [Symbol.asyncDispose]() {
      const late = setTimeout(kill, STOP_MS);
      child.kill('SIGTERM');
      await ended;
      clearTimeout(late);
    },
  };
}
