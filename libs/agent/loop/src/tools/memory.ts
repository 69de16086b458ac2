import { mkdir } from 'node:fs/promises';
import { ToolError, type ToolResult } from '@hermes-fleet/protocol/ports';
import type { AnchoredFolder } from '@hermes-fleet/workspace';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { createSerialQueue } from '../run/serial-queue.ts';
import { defineFileTool } from '../run/tool.ts';
import { listNotes, type Notes, noteInput, readNoteTool, writeNote } from './notes-folder.ts';

const NOTES: Notes = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.md$/,
  names: 'a name like deploy-notes.md; no directories',
  maxBytes: 64 * 1024,
  maxFiles: 200,
};

/** `memory_*`: Markdown files that all tasks of the profile share, out of reach of commands. Writes are serialized. */
export function memoryTools(options: { readonly dir: string }): AgentTool[] {
  const inTurn = createSerialQueue();

  async function openMemory(): Promise<AnchoredFolder> {
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const folder = await anchoredFiles(options.dir, false).openFolder('.');
    if (folder === undefined) throw new ToolError('the memory of this profile cannot be opened');
    return folder;
  }

  const write = defineFileTool({
    name: 'memory_write',
    description: 'Keep Markdown in the memory, for later tasks. Empty content removes the file.',
    mutates: true,
    inputSchema: noteInput(NOTES),
    run: (note) =>
      inTurn(async (): Promise<ToolResult> => {
        await using folder = await openMemory();
        const { name } = note;
        if (note.content === '' && !note.append) {
          if (!(await listNotes(folder, NOTES)).includes(name)) throw new ToolError(`there is no ${name}`);
          await folder.remove(name);
          return { ok: true, output: { removed: name }, detail: name };
        }
        const bytes = await writeNote(folder, note, NOTES);
        return { ok: true, output: { name, bytes }, detail: name };
      }),
  });

  const list = defineFileTool({
    name: 'memory_list',
    description: 'List the files of the memory.',
    mutates: false,
    inputSchema: z.strictObject({}),
    async run() {
      await using folder = await openMemory();
      return { ok: true, output: { files: await listNotes(folder, NOTES) } };
    },
  });

  return [readNoteTool('memory_read', 'the memory', NOTES, openMemory), write, list];
}
