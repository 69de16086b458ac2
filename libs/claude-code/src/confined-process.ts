import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Workspace } from '@hermes-fleet/workspace';
import { CapturedOutput, killTree } from '@hermes-fleet/workspace';
import type { Spawned, SpawnRequest } from './query-options.ts';

const STDERR_BYTES = 16 * 1024;

/** The one process of a session, which runs confined like every command. */
export interface ConfinedProcess {
  /** Starts it, once. */
  spawn(request: SpawnRequest): Spawned;
  /** Kills it and all that it started, at once; also before it was started, which then fails. */
  kill(): void;
  /** Resolves once nothing of it is left. */
  gone(): Promise<void>;
  /** The beginning and the end of what it printed to its standard error. */
  stderr(): string;
}

/** Claude Code as a command in the workspace: by its confinement, with an environment of its own, written down for a crash. */
export function confinedProcess(o: {
  readonly workspace: Workspace;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}): ConfinedProcess {
  const stderr = new CapturedOutput(STDERR_BYTES);
  let killed = false;
  let stop = (): void => {};
  let gone: Promise<void> = Promise.resolve();

  return {
    spawn({ command, args }) {
      if (killed) throw new Error('the session has ended');
      const line = o.workspace.wrap('/bin/sh', ['-c', IN_HOME, 'sh', command, ...args]);
      const record = line.records?.open(line.markGid);
      const child = spawn(line.command, line.args, {
        cwd: o.workspace.dir,
        env: { ...o.env, ...record?.env },
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      if (child.pid !== undefined) record?.started(child.pid);
      stop = () => {
        if (child.pid !== undefined) killTree(child.pid, { gid: line.markGid, env: record?.mark });
      };
      child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
      // Broken pipes of a process that was killed; its end is told by its exit.
      child.stdin.on('error', () => {});
      gone = ended(child).then(() => {
        stop();
        // Its number may be somebody else's from now on.
        stop = () => {};
        record?.[Symbol.dispose]();
      });
      return child;
    },
    kill() {
      killed = true;
      stop();
    },
    gone: () => gone,
    stderr: () => stderr.text(),
  };
}

const IN_HOME = 'umask 0007; mkdir -p "$HOME" "$CLAUDE_CONFIG_DIR" "$CLAUDE_CODE_TMPDIR"; exec "$@"';

async function ended(child: ChildProcess): Promise<void> {
  try {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  } catch {
    // It could not be started: there is nothing to wait for, and the SDK tells why.
  }
}
