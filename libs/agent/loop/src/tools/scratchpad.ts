import { createHash } from 'node:crypto';
import { type AdmittedTask, ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles, AnchoredFolder } from '@hermes-fleet/workspace';
import { contextName } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { listNotes, type Notes, noteInput, readNoteTool, writeNote } from './notes-folder.ts';

const NOTES: Notes = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  names: 'letters, digits, dots, dashes and underscores; no directories',
  maxBytes: 1024 * 1024,
  maxFiles: 200,
};

export const SCRATCH = '.scratch';
/** Folders beside the scratchpads: the commands' home, and outputs too long for a conversation. */
export const HOME = 'home';
export const OUTPUTS = 'outputs';
const RESERVED: readonly string[] = [HOME, OUTPUTS];
/** Marker file whose modification time is the last use of the scratchpad. */
const USED = '.used';

/** Id of the root task, the task's own id when it has no root. All tasks of one root share a scratchpad. */
export const rootIdOf = ({ dispatch }: AdmittedTask): string => dispatch.task.rootId ?? dispatch.task.taskId;

/** Name of the scratchpad's folder below `.scratch`. */
export function scratchName(rootId: string): string {
  if (!RESERVED.includes(rootId.toLowerCase())) return contextName(rootId);
  return `h-${createHash('sha256').update(rootId).digest('hex').slice(0, 40)}`;
}

/** Path of a task's scratchpad, relative to the workspace (docs/agent.md#progress-scratchpad-memory). */
export const scratchDir = (task: AdmittedTask): string => `${SCRATCH}/${scratchName(rootIdOf(task))}`;

/** `scratchpad_*`: intermediate results that a task and its sub-agents share. */
export function scratchpadTools(): AgentTool[] {
  const read = readNoteTool('scratchpad_read', 'the scratchpad', NOTES, ({ files, task }) =>
    openScratchpad(files, task, false),
  );
  return [read, writeTool(), listTool()];
}

function writeTool(): AgentTool {
  return defineFileTool({
    name: 'scratchpad_write',
    description: 'Write a file of the scratchpad, which this task and its sub-agents share.',
    mutates: true,
    inputSchema: noteInput(NOTES),
    async run(note, { files, task }) {
      await using folder = await openScratchpad(files, task, true);
      if (folder === undefined) throw new ToolError('the scratchpad cannot be made');
      const bytes = await writeNote(folder, note, NOTES);
      return { ok: true, output: { path: `${scratchDir(task)}/${note.name}`, bytes }, detail: note.name };
    },
  });
}

function listTool(): AgentTool {
  return defineFileTool({
    name: 'scratchpad_list',
    description: 'List the files of the scratchpad.',
    mutates: false,
    inputSchema: z.strictObject({}),
    async run(_input, { files, task }) {
      await using folder = await openScratchpad(files, task, false);
      const found = folder === undefined ? [] : await listNotes(folder, NOTES);
      return { ok: true, output: { files: found.slice(0, NOTES.maxFiles) }, detail: scratchDir(task) };
    },
  });
}

/** Opens the task's scratchpad and marks it as used. A missing one is created with `make`, else undefined. */
export async function openScratchpad(
  files: AnchoredFiles,
  task: AdmittedTask,
  make: boolean,
): Promise<AnchoredFolder | undefined> {
  const folder = await files.openFolder(scratchDir(task), { make });
  if (folder === undefined) return undefined;
  try {
    await folder.touch(USED);
    return folder;
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}
