import { numbered } from '@hermes-fleet/protocol';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { type AnchoredFiles, type AnchoredFolder, hasCode } from '@hermes-fleet/workspace';
import type { ReceivedFile } from './read-files.ts';

/** The folder of the workspace that the files of tasks are in, each task's in a folder of its own. */
const INBOX = 'inbox';
/** Characters from the end of the task's id, which is random: no earlier task of the context could know the folder. */
const ID_CHARS = 8;
const MAX_TRIES = 100;
/** The rules of git for the folder: nothing in it is part of the work. */
const IGNORE = '.gitignore';
const IGNORE_ALL = Buffer.from('*\n');

interface PlacedFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly mediaType: string;
  readonly size: number;
}

/**
 * Writes a task's files below `inbox/` of the workspace, durably: a name that is taken gets a number, and what an
 * interrupted run wrote is not written again. Throws ToolError when the folder is none of the workspace.
 */
export async function placeFiles(
  workspace: AnchoredFiles,
  taskId: string,
  files: readonly ReceivedFile[],
): Promise<PlacedFile[]> {
  const path = `${INBOX}/${taskId.replace(/[^A-Za-z0-9]/g, '').slice(-ID_CHARS)}`;
  await using folder = await openInbox(workspace, path);
  const names = new Set((await folder.entries()).map(({ name }) => name));
  if (!names.has(IGNORE)) await folder.write(IGNORE, IGNORE_ALL);
  const placed: PlacedFile[] = [];
  const given = new Set<string>();
  for (const { name: wanted, mediaType, bytes } of files) {
    const name = await placeFile(folder, wanted, bytes, names, given);
    given.add(name);
    placed.push({ path: `${path}/${name}`, mediaType, size: bytes.byteLength });
  }
  return placed;
}

async function openInbox(workspace: AnchoredFiles, path: string): Promise<AnchoredFolder> {
  try {
    const folder = await workspace.openFolder(path, { make: true });
    if (folder !== undefined) return folder;
  } catch (error) {
    if (!hasCode(error, 'ELOOP', 'ENOTDIR')) throw error;
  }
  throw new ToolError(`${path} in the workspace is not a folder: a file or a symlink is in its way`);
}

async function placeFile(
  folder: AnchoredFolder,
  wanted: string,
  bytes: Uint8Array,
  names: ReadonlySet<string>,
  given: ReadonlySet<string>,
): Promise<string> {
  for (let n = 1; n <= MAX_TRIES; n += 1) {
    const name = numbered(wanted, n);
    if (given.has(name)) continue;
    if (!names.has(name)) {
      await folder.write(name, bytes);
      return name;
    }
    if (await isSame(folder, name, bytes)) return name;
  }
  throw new ToolError(`${INBOX} in the workspace has ${MAX_TRIES} files called ${wanted}`);
}

/** False for what is no regular file, such as a symlink, which is never followed. */
async function isSame(folder: AnchoredFolder, name: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const found = await folder.read(name, bytes.byteLength);
    return found?.equals(bytes) ?? false;
  } catch (error) {
    if (error instanceof ToolError || hasCode(error, 'EACCES', 'ENXIO')) return false;
    throw error;
  }
}
