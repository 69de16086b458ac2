import { join } from 'node:path';
import { type RunResources, SCRATCH, scratchDir } from '@hermes-fleet/loop';
import { type AdmittedTask, taskFields } from '@hermes-fleet/protocol/ports';
import { runCommand } from '@hermes-fleet/workspace';

/** Prefix of the folders with session files, inside the tasks' scratchpads. */
const PREFIX = '.claude-';

/**
 * The folder of a task's session files, relative to the workspace. It is left out of commits and swept with the
 * scratchpad.
 */
export const sessionFolder = (task: AdmittedTask): string =>
  `${scratchDir(task)}/${PREFIX}${task.id.replace(/[^A-Za-z0-9-]+/g, '_').slice(-80)}`;

/** Matches all session files, for a permission rule that hides them from the model. */
export const SESSION_FILES = `./${SCRATCH}/*/${PREFIX}*/**`;

const REMOVE_MS = 10_000;
/** Removes the session folder, and its parents if they are empty. */
const REMOVE = 'rm -rf -- "$1"; rmdir -- "$2" "$3" 2>/dev/null; true';

/** Removes the session files of a task that is over, as a confined command: a planted link gives it no more rights. */
export async function removeSession({ workspace, task, clock, log }: RunResources): Promise<void> {
  const folders = [sessionFolder(task), scratchDir(task), SCRATCH].map((path) => join(workspace.dir, path));
  const line = workspace.wrap('/bin/sh', ['-c', REMOVE, 'sh', ...folders]);
  try {
    await runCommand(line, { cwd: workspace.dir, timeoutMs: REMOVE_MS, clock });
  } catch (error) {
    log.warn({ ...taskFields(task), err: error }, 'the session of a task that is over could not be removed');
  }
}
