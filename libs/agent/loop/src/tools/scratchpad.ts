import { createHash } from 'node:crypto';
import { type AdmittedTask, ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFiles, AnchoredFolder } from '@hermes-fleet/workspace';
import { contextName } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { listNotes, readNote, writeNote } from './notes-folder.ts';

const LIMITS = { maxBytes: 1024 * 1024, maxFiles: 200 };
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const isName = (name: string): boolean => NAME.test(name);
const Name = z.string().regex(NAME, 'letters, digits, dots, dashes and underscores; no directories');

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

/**
 * `scratchpad_read`, `scratchpad_write` and `scratchpad_list` manage intermediate results that a task and its
 * sub-agents share. An agent's access depends on which of these tools it gets.
 */
export function scratchpadTools(): AgentTool[] {
  return [readTool(), writeTool(), listTool()];
}

function readTool(): AgentTool {
  return defineFileTool({
    name: 'scratchpad_read',
    description: 'Read a file of the scratchpad, a page of lines at a time.',
    mutates: false,
    inputSchema: z.strictObject({
      name: Name,
      offset: z.int().min(1).optional().describe('first line, from 1'),
      limit: z.int().min(1).max(2000).optional(),
    }),
    async run(input, { files, task }) {
      await using folder = await openScratchpad(files, task, false);
      return { ok: true, output: await readNote(folder, input.name, input, LIMITS), detail: input.name };
    },
  });
}

function writeTool(): AgentTool {
  return defineFileTool({
    name: 'scratchpad_write',
    description: 'Write a file of the scratchpad, which this task and its sub-agents share.',
    mutates: true,
    inputSchema: z.strictObject({ name: Name, content: z.string(), append: z.boolean().optional() }),
    async run({ name, content, append = false }, { files, task }) {
      await using folder = await openScratchpad(files, task, true);
      if (folder === undefined) throw new ToolError('the scratchpad cannot be made');
      const bytes = await writeNote(folder, { name, content, append }, isName, LIMITS);
      return { ok: true, output: { path: `${scratchDir(task)}/${name}`, bytes }, detail: name };
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
      const found = folder === undefined ? [] : await listNotes(folder, isName);
      return { ok: true, output: { files: found.slice(0, LIMITS.maxFiles) }, detail: scratchDir(task) };
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
