import { ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFolder } from '@hermes-fleet/workspace';
import { z } from 'zod';
import type { AgentTool, ToolContext } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { pageOf, textOf } from './files/text-file.ts';

/** Files that tasks keep in a folder of the gateway's, and how they may be. */
export interface Notes {
  readonly pattern: RegExp;
  readonly names: string;
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** The input of a tool that writes a note. */
export const noteInput = ({ pattern, names }: Notes) =>
  z.strictObject({
    name: z.string().regex(pattern, names),
    content: z.string(),
    append: z.boolean().optional(),
  });

/** Names of the notes in a folder: its regular files with a valid name. */
export async function listNotes(folder: AnchoredFolder, { pattern }: Notes): Promise<string[]> {
  const entries = await folder.entries();
  return entries.filter((entry) => entry.isFile() && pattern.test(entry.name)).map(({ name }) => name);
}

/** The tool that reads a note, a page at a time. `open` resolves with undefined where there are none. */
export function readNoteTool(
  name: string,
  place: string,
  notes: Notes,
  open: (call: ToolContext) => Promise<AnchoredFolder | undefined>,
): AgentTool {
  return defineFileTool({
    name,
    description: `Read a file of ${place}, a page of lines at a time.`,
    mutates: false,
    inputSchema: z.strictObject({
      name: noteInput(notes).shape.name,
      offset: z.int().min(1).optional().describe('first line, from 1'),
      limit: z.int().min(1).max(2000).optional(),
    }),
    async run(input, call) {
      await using folder = await open(call);
      const bytes = await folder?.read(input.name, notes.maxBytes);
      if (bytes === undefined) throw new ToolError(`there is no ${input.name}`);
      return { ok: true, output: pageOf(textOf(bytes), input.offset, input.limit), detail: input.name };
    },
  });
}

/** Replaces a note or appends to it; resolves with its size in bytes. */
export async function writeNote(
  folder: AnchoredFolder,
  { name, content, append }: z.output<ReturnType<typeof noteInput>>,
  limits: Notes,
): Promise<number> {
  const before = append ? await folder.read(name, limits.maxBytes) : undefined;
  const bytes = Buffer.concat([before ?? Buffer.alloc(0), Buffer.from(content)]);
  if (bytes.length > limits.maxBytes)
    throw new ToolError(
      `it would have ${bytes.length} bytes; ${limits.maxBytes} are allowed: shorten or divide it`,
    );
  const names = await listNotes(folder, limits);
  if (!names.includes(name) && names.length >= limits.maxFiles)
    throw new ToolError(`there are ${names.length} files already, and no more are allowed: use one of them`);
  await folder.write(name, bytes);
  return bytes.length;
}
