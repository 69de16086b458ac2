import { isAbsolute, join } from 'node:path';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { type AnchoredFiles, hasCode } from '@hermes-fleet/workspace';
import type { NativeCall } from './native-tools.ts';

/** The call's path relative to the workspace; a path outside stays as it is. */
export function normalizedPath(files: AnchoredFiles, { path }: NativeCall): string {
  try {
    return files.normalize(path);
  } catch (error) {
    if (error instanceof ToolError) return path;
    throw error;
  }
}

/**
 * Throws a ToolError when a call of one of Claude Code's own tools leaves the workspace: by its path, by the fixed part
 * of its pattern, or by a link in either.
 */
export async function checkNativePaths(files: AnchoredFiles, call: NativeCall): Promise<void> {
  for (const path of pathsOf(call)) {
    if (path.startsWith('~')) throw new ToolError('a path must not begin with ~; use one in the workspace');
    await checkLinks(files, files.normalize(path));
  }
}

function pathsOf({ tool, input, path }: NativeCall): string[] {
  if (tool !== 'find_files' || typeof input.pattern !== 'string') return [path];
  const parts = input.pattern.trim().split('/');
  const wild = parts.findIndex((part) => /[*?[\]{}()!]/.test(part));
  const base = (wild < 0 ? parts : parts.slice(0, wild)).join('/');
  const from = input.pattern.trim().startsWith('/') ? base || '/' : base;
  return [path, isAbsolute(from) || from.startsWith('~') ? from : join(path, from)];
}

/** Opens an existing path as the agent's tools would; a missing path contains no links. */
async function checkLinks(files: AnchoredFiles, path: string): Promise<void> {
  try {
    await (await files.openDirectory(path)).close();
    return;
  } catch (error) {
    if (!hasCode(error, 'ENOTDIR', 'ENOENT')) return rethrowEscape(error);
  }
  try {
    await (await files.openFile(path, 'read')).close();
  } catch (error) {
    rethrowEscape(error);
  }
}

/** Ignores a missing or inaccessible file: Claude Code has fewer rights than the gateway and gets the error itself. */
function rethrowEscape(error: unknown): void {
  if (error instanceof ToolError) throw error;
  if (hasCode(error, 'ELOOP')) throw new ToolError('the path is a dangling link');
  if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) throw error;
}
