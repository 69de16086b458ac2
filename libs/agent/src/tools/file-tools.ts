import type { FileHandle } from 'node:fs/promises';
import { ToolError, type ToolResult } from '@hermes-fleet/protocol';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { pageOf, textOf } from './text-page.ts';

const MAX_FILE_BYTES = 8 * 1024 * 1024;

const path = z.string();

/** `read_file`, `write_file` and `edit_file`. */
export function fileTools(): AgentTool[] {
  return [readTool(), writeTool(), editTool()];
}

function readTool(): AgentTool {
  return defineFileTool({
    name: 'read_file',
    description: 'Read a text file, a page of lines at a time; read_on_at is the offset of the next page.',
    mutates: false,
    inputSchema: z.strictObject({
      path,
      offset: z.int().min(1).optional().describe('first line, from 1'),
      limit: z.int().min(1).max(2000).optional(),
    }),
    async run(input, { files }) {
      await using file = await files.openFile(input.path, 'read');
      const content = await readText(file);
      const page = pageOf(content, input.offset, input.limit);
      return { ok: true, output: page, detail: files.normalize(input.path) };
    },
  });
}

function writeTool(): AgentTool {
  return defineFileTool({
    name: 'write_file',
    description: 'Create a file or replace its whole content; makes missing directories.',
    mutates: true,
    inputSchema: z.strictObject({ path, content: z.string() }),
    async run(input, { files }) {
      const bytes = Buffer.from(input.content);
      if (bytes.length > MAX_FILE_BYTES)
        throw new ToolError(`a file may have at most ${MAX_FILE_BYTES} bytes`);
      await using file = await files.openFile(input.path, 'create');
      await replace(file, bytes);
      return written(files.normalize(input.path), bytes.length);
    },
  });
}

function editTool(): AgentTool {
  return defineFileTool({
    name: 'edit_file',
    description: 'Replace text in a file. old_text must occur exactly once, unless replace_all.',
    mutates: true,
    inputSchema: z.strictObject({
      path,
      old_text: z.string().min(1),
      new_text: z.string(),
      replace_all: z.boolean().optional(),
    }),
    async run(input, { files }) {
      await using file = await files.openFile(input.path, 'edit');
      const parts = (await readText(file)).split(input.old_text);
      const found = parts.length - 1;
      if (found === 0) throw new ToolError('old_text does not occur in the file; read it again');
      if (found > 1 && !input.replace_all) {
        throw new ToolError(`old_text occurs ${found} times; give more of its surroundings, or replace_all`);
      }
      const bytes = Buffer.from(parts.join(input.new_text));
      if (bytes.length > MAX_FILE_BYTES)
        throw new ToolError(`a file may have at most ${MAX_FILE_BYTES} bytes`);
      await replace(file, bytes);
      return written(files.normalize(input.path), bytes.length);
    },
  });
}

const written = (name: string, bytes: number): ToolResult => ({
  ok: true,
  output: { path: name, bytes },
  detail: name,
});

async function readText(file: FileHandle): Promise<string> {
  const { size } = await file.stat();
  if (size > MAX_FILE_BYTES) {
    throw new ToolError(`the file has ${size} bytes; look at parts of it with shell_exec`);
  }
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  return textOf(bytes.subarray(0, bytesRead));
}

/** Writes the part beyond the old content first, so a full disk leaves the old content intact. */
async function replace(file: FileHandle, bytes: Buffer): Promise<void> {
  const { size } = await file.stat();
  const kept = Math.min(size, bytes.length);
  try {
    await writePart(file, bytes, kept, bytes.length);
  } catch (error) {
    await file.truncate(size);
    throw error;
  }
  await writePart(file, bytes, 0, kept);
  await file.truncate(bytes.length);
}

async function writePart(file: FileHandle, bytes: Buffer, from: number, to: number): Promise<void> {
  for (let done = from; done < to; ) done += (await file.write(bytes, done, to - done, done)).bytesWritten;
}
