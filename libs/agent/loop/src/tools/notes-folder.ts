import { ToolError } from '@hermes-fleet/protocol/ports';
import type { AnchoredFolder } from '@hermes-fleet/workspace';
import { pageOf, textOf } from './text-page.ts';

export interface NoteLimits {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** Names of the notes in a folder: its regular files with a valid name. */
export async function listNotes(
  folder: AnchoredFolder,
  isName: (name: string) => boolean,
): Promise<string[]> {
  const entries = await folder.entries();
  return entries.filter((entry) => entry.isFile() && isName(entry.name)).map(({ name }) => name);
}

export async function readNote(
  folder: AnchoredFolder | undefined,
  name: string,
  page: { readonly offset?: number | undefined; readonly limit?: number | undefined },
  limits: NoteLimits,
) {
  const bytes = await folder?.read(name, limits.maxBytes);
  if (bytes === undefined) throw new ToolError(`there is no ${name}`);
  return pageOf(textOf(bytes), page.offset, page.limit);
}

/** Replaces a note or appends to it; resolves with its size in bytes. */
export async function writeNote(
  folder: AnchoredFolder,
  note: { readonly name: string; readonly content: string; readonly append: boolean },
  isName: (name: string) => boolean,
  limits: NoteLimits,
): Promise<number> {
  const { name, append } = note;
  const before = append ? await folder.read(name, limits.maxBytes) : undefined;
  const bytes = Buffer.concat([before ?? Buffer.alloc(0), Buffer.from(note.content)]);
  if (bytes.length > limits.maxBytes)
    throw new ToolError(
      `it would have ${bytes.length} bytes; ${limits.maxBytes} are allowed: shorten or divide it`,
    );
  const names = await listNotes(folder, isName);
  if (!names.includes(name) && names.length >= limits.maxFiles)
    throw new ToolError(`there are ${names.length} files already, and no more are allowed: use one of them`);
  await folder.write(name, bytes);
  return bytes.length;
}
