import { join } from 'node:path';
import type { RunResources } from '@hermes-fleet/agent';
import { SCRATCH, scratchDir } from '@hermes-fleet/agent';
import { COMMAND_ENV, runCommand } from '@hermes-fleet/workspace';
import { sessionFolder } from './environment.ts';

const REMOVE_MS = 10_000;
/** And the folders around it, where nothing else is in them. */
const REMOVE = 'rm -rf -- "$1"; rmdir -- "$2" "$3" 2>/dev/null; true';

/** Removes what Claude Code kept of a run that is over: as a command, with no more rights than one has. */
export async function removeSession({ workspace, task, clock, log }: RunResources): Promise<void> {
  const folders = [sessionFolder(task), scratchDir(task), SCRATCH].map((path) => join(workspace.dir, path));
  const line = workspace.wrap('/bin/sh', ['-c', REMOVE, 'sh', ...folders]);
  const limits = { timeoutMs: REMOVE_MS, keepBytes: 4096, maxBytes: 65_536, clock };
  try {
    await runCommand(line, { cwd: workspace.dir, env: COMMAND_ENV, ...limits });
  } catch (error) {
    log.warn({ task_id: task.id, err: error }, 'the session of a task that is over could not be removed');
  }
}
