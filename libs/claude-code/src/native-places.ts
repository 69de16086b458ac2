import { isAbsolute, join } from 'node:path';
import { ToolError } from '@hermes-fleet/protocol';
import type { AnchoredFiles } from '@hermes-fleet/workspace';
import { hasCode } from '@hermes-fleet/workspace';
import type { NativeCall } from './native-tools.ts';

/**
 * Throws what the model can act on when a call of one of Claude Code's own tools leads out of the workspace: by its
 * path, by where its pattern begins, or by a link in either.
 */
export async function checkPlaces(files: AnchoredFiles, call: NativeCall): Promise<void> {
  for (const place of placesOf(call)) {
    if (place.startsWith('~')) throw new ToolError('a path must not begin with ~; use one in the workspace');
    files.normalize(place);
    await checkLinks(files, place);
  }
}

function placesOf({ tool, input, path }: NativeCall): string[] {
  if (tool !== 'find_files' || typeof input.pattern !== 'string') return [path];
  const parts = input.pattern.trim().split('/');
  const wild = parts.findIndex((part) => /[*?[\]{}()!]/.test(part));
  const base = (wild < 0 ? parts : parts.slice(0, wild)).join('/');
  const from = input.pattern.trim().startsWith('/') ? base || '/' : base;
  return [path, isAbsolute(from) || from.startsWith('~') ? from : join(path, from)];
}

/** What is there is opened as our own tools would; what is not there has no links in it. */
async function checkLinks(files: AnchoredFiles, place: string): Promise<void> {
  try {
    await (await files.openDirectory(place)).close();
    return;
  } catch (error) {
    if (!hasCode(error, 'ENOTDIR', 'ENOENT')) return passed(error);
  }
  try {
    await (await files.openFile(place, 'read')).close();
  } catch (error) {
    passed(error);
  }
}

/** Claude Code has fewer rights than the gateway: what is denied to both it finds out itself. */
function passed(error: unknown): void {
  if (error instanceof ToolError) throw error;
  if (hasCode(error, 'ELOOP')) throw new ToolError('the path is a link that leads nowhere');
  if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error;
}
