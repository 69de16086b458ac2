import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { FleetError } from '@hermes-fleet/protocol';
import type { Workspace } from '@hermes-fleet/workspace';
import { CapturedOutput, capacityOf, supervise } from '@hermes-fleet/workspace';
import type { QueryOptions, Spawned } from './sdk-types.ts';

const STDERR_BYTES = 16 * 1024;

/** Runs Claude Code as a confined command, recorded so that the next start can kill it after a crash. */
export function confinedProcess(options: {
  readonly workspace: Pick<Workspace, 'dir' | 'wrap'>;
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}) {
  const { workspace, env } = options;
  const stderr = new CapturedOutput(STDERR_BYTES);
  let killed = false;
  let failure: FleetError | undefined;
  let stop = (): void => {};
  let gone: Promise<void> = Promise.resolve();

  return {
    /** Must be called at most once. */
    spawn({ command, args }: Parameters<QueryOptions['spawnClaudeCodeProcess']>[0]): Spawned {
      if (killed) throw new Error('the session has ended');
      const line = workspace.wrap('/bin/sh', ['-c', IN_HOME, 'sh', command, ...args]);
      const watched = supervise(line);
      const child = spawn(line.command, line.args, {
        cwd: workspace.dir,
        env: { ...env, ...watched.env },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      child.on('error', (error) => {
        failure ??= capacityOf(error);
      });
      const { pid } = child;
      if (pid !== undefined) {
        stop = () => watched.kill(pid);
        watched.started(pid, (limit) => {
          failure ??= new FleetError('MODEL_FAILED', `Claude Code was ended: ${limit}`, { retryable: false });
          stop();
        });
      }
      child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
      // A killed process breaks its pipe; `exit` reports its end.
      child.stdin.on('error', () => {});
      gone = ended(child).then(() => {
        stop();
        // The pid may be reused from now on.
        stop = () => {};
        watched[Symbol.dispose]();
      });
      return child;
    },
    /** Kills its process tree at once. A later `spawn` throws. */
    kill(): void {
      killed = true;
      stop();
    },
    /** Resolves once its process tree is gone. */
    gone: () => gone,
    /** The head and tail of its standard error. */
    stderr: () => stderr.text(),
    /** Why it did not start, or was ended, if the machine or a limit is the reason. */
    failure: () => failure,
  };
}

const IN_HOME = 'umask 0007; mkdir -p "$HOME" "$CLAUDE_CONFIG_DIR" "$CLAUDE_CODE_TMPDIR"; exec "$@"';

async function ended(child: ChildProcess): Promise<void> {
  try {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  } catch {
    // The process could not be started; the SDK reports the reason.
  }
}
