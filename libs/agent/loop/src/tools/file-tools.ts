import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';
import type { AgentTool } from '../run/conversation.ts';
import { defineFileTool } from '../run/tool.ts';
import { appended, applyEdits, type Edit, MAX_FILE_BYTES } from './files/edits.ts';
import { decode, encodingOf, pageOf, readWhole } from './files/text-file.ts';

const MAX_LINES = 2000;

const path = z.string();

/** `read_file`, `write_file` and `edit_file`. */
export function fileTools(): AgentTool[] {
  return [readTool(), writeTool(), editTool()];
}

function readTool(): AgentTool {
  const tool = defineFileTool({
    name: 'read_file',
    description: 'Read a text file, a page of lines at a time; read_on_at is the offset of the next page.',
    mutates: false,
    inputSchema: z.strictObject({
      path,
      offset: z.int().min(1).optional().describe('first line, from 1'),
      limit: z.int().min(1).max(MAX_LINES).optional(),
    }),
    async run(input, { files }) {
      await using file = await files.openFile(input.path, 'read');
      const bytes = await readBytes(file);
      const encoding = encodingOf(bytes);
      const page = pageOf(decode(bytes, encoding).replace(/^\uFEFF/, ''), input.offset, input.limit);
      const output = encoding === 'UTF-8' ? page : { ...page, encoding: NOT_UTF8 };
      return { ok: true, output, detail: files.normalize(input.path) };
    },
  });
  return withLineRange(tool, MAX_LINES);
}

function writeTool(): AgentTool {
  return defineFileTool({
    name: 'write_file',
    description: 'Create a file or replace its whole content; makes missing directories.',
    mutates: true,
    inputSchema: z.strictObject({
      path,
      content: z.string(),
      append: z.boolean().optional().describe('add to its end'),
    }),
    unsupported: {
      mode: {
        same: ['', 'w', 'wt', 'write', 'overwrite', 'replace', 'create', 'rewrite'],
        instead: 'a file is replaced, or with append: true, content is added to its end',
      },
      overwrite: { same: ['true'], instead: 'write_file replaces a file; look first whether there is one' },
      dry_run: DRY_RUN,
    },
    async run(input, { files }) {
      const content = Buffer.from(input.content);
      if (content.length > MAX_FILE_BYTES) throw tooLong();
      await using file = await files.openFile(input.path, 'create');
      const bytes = input.append ? appended(await readBytes(file), input.content) : content;
      if (bytes.length > MAX_FILE_BYTES) throw tooLong();
      await replace(file, bytes);
      const name = files.normalize(input.path);
      return { ok: true, output: { path: name, bytes: bytes.length }, detail: name };
    },
  });
}

const DRY_RUN = { same: ['false'], instead: 'a call is carried out; leave it out' };
const REGEX = { same: ['false'], instead: 'old_text is looked for as it is; give the text itself' };

const tooLong = (): ToolError => new ToolError(`a file may have at most ${MAX_FILE_BYTES} bytes`);

const OneEdit = z.strictObject({
  old_text: z.string().min(1),
  new_text: z.string(),
  replace_all: z.boolean().optional(),
});

function editTool(): AgentTool {
  return defineFileTool({
    name: 'edit_file',
    description:
      'Replace text in a file. old_text must occur exactly once, unless replace_all. edits: several at once, in order, all or none.',
    mutates: true,
    inputSchema: z.strictObject({
      path,
      old_text: OneEdit.shape.old_text.optional(),
      new_text: OneEdit.shape.new_text.optional(),
      replace_all: OneEdit.shape.replace_all,
      edits: z.array(OneEdit).min(1).max(MAX_EDITS).optional(),
    }),
    unsupported: {
      dry_run: DRY_RUN,
      expected_replacements: {
        same: ['1'],
        instead: 'old_text must occur exactly once; with replace_all, the result says how many were replaced',
      },
      regex: REGEX,
      is_regex: REGEX,
      use_regex: REGEX,
    },
    async run(input, { files }) {
      const edits = editsOf(input);
      await using file = await files.openFile(input.path, 'edit');
      const { content, encoding, replaced } = applyEdits(await readBytes(file), edits);
      await replace(file, content);
      const name = files.normalize(input.path);
      const more = { ...(replaced > 1 && { replaced }), ...(encoding !== 'UTF-8' && { encoding: NOT_UTF8 }) };
      return { ok: true, output: { path: name, bytes: content.length, ...more }, detail: name };
    },
  });
}

const MAX_EDITS = 100;
const NOT_UTF8 = 'Windows-1252 or Latin-1, which edit_file keeps; write_file would make it UTF-8';

function editsOf(input: Partial<Edit> & { readonly edits?: readonly Edit[] | undefined }): readonly Edit[] {
  const { old_text, new_text, replace_all, edits } = input;
  const isOne = old_text !== undefined || new_text !== undefined;
  if (edits !== undefined && isOne)
    throw new ToolError('give old_text and new_text for one edit, or edits for several, not both');
  if (edits !== undefined)
    return edits.map((edit) => ({ ...edit, replace_all: edit.replace_all ?? replace_all }));
  if (old_text === undefined) throw new ToolError('old_text is missing: the text to replace');
  if (new_text === undefined)
    throw new ToolError('new_text is missing: the text to put in its place; an empty one deletes old_text');
  return [{ old_text, new_text, replace_all }];
}

const readBytes = (file: FileHandle): Promise<Buffer> =>
  readWhole(file, MAX_FILE_BYTES, 'look at parts of it with shell_exec');

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

const Line = z.coerce.number().int().min(1);
/** The ranges of other agents' tools: first and last line, from 1; the last one -1 for all that follow. */
const Range = z.union([
  z
    .looseObject({ view_range: z.tuple([Line, z.union([Line, z.literal(-1)])]) })
    .transform(({ view_range: [first, last], ...others }) => ({
      first,
      last,
      others,
      names: 'view_range is',
    })),
  z
    .looseObject({ start_line: Line, end_line: Line })
    .transform(({ start_line: first, end_line: last, ...others }) => ({
      ...{ first, last, others },
      names: 'start_line and end_line are',
    })),
]);

/** The tool, which has `offset` and `limit`, with ranges of lines understood too: their first `maxLines` lines. */
function withLineRange(tool: AgentTool, maxLines: number): AgentTool {
  const understand = (raw: unknown) => {
    const range = Range.safeParse(raw).data;
    if (range === undefined || 'offset' in range.others || 'limit' in range.others)
      return { input: raw, notes: [] };
    const { first, last, others, names } = range;
    if (last !== -1 && last < first) return { input: raw, notes: [] };
    const limit = last === -1 ? {} : { limit: Math.min(last - first + 1, maxLines) };
    return { input: { ...others, offset: first, ...limit }, notes: [`${names} read as offset and limit`] };
  };
  return {
    ...tool,
    readInput(raw) {
      const { input, notes } = understand(raw);
      const read = tool.readInput?.(input) ?? { input, notes: [] };
      return { ...read, notes: [...notes, ...read.notes] };
    },
    run: (raw, call) => tool.run(understand(raw).input, call),
  };
}
