import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { ToolError } from '@hermes-fleet/protocol/ports';
import { COMMAND_USER, type CommandUser } from '../confinement/command-user.ts';
import { shareHandle } from '../confinement/confinement.ts';
import { hasCode } from '../process/system-error.ts';
import { type AnchoredFolder, anchoredFolder, at, type Share } from './anchored-folder.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = constants;
const MAX_PATH_BYTES = 4096;

export type AnchoredFiles = ReturnType<typeof anchoredFiles>;

/**
 * Files below one root directory. No path leaves it: not by `..`, not by a symlink, not by one planted in a race.
 *
 * The gateway opens these files with its own rights while confined commands may change the tree, so checking the path
 * is not enough. Symlinks are resolved and checked first. Then every component is opened below its parent's descriptor
 * (`/proc/self/fd/N/name`) without following symlinks. A change in between causes an error, never an escape.
 * `otherUser`: commands run as `user`, with whom written files are shared.
 */
export function anchoredFiles(root: string, otherUser: boolean, user: CommandUser = COMMAND_USER) {
  const share: Share = (handle) => shareHandle(handle, otherUser, user);
  async function openFile(path: string, mode: 'read' | 'edit' | 'create'): Promise<FileHandle> {
    const inside = relativePath(root, path);
    if (path.endsWith('/') && inside !== '.')
      throw new ToolError(`${shown(path)}: the path of a file does not end with a slash: write ${inside}`);
    const parts = await resolveInside(root, inside);
    const name = parts.pop();
    if (name === undefined) throw new ToolError('that is the workspace itself, not a file');
    await using directory = await walk(root, parts, mode === 'create', share);
    const file = await openLeaf(at(directory, name), mode, share);
    if ((await file.stat()).isFile()) return file;
    await file.close();
    throw new ToolError('it is not a regular file');
  }
  return {
    /** Returns the normalized path, relative to the root. */
    normalize: (path: string): string => relativePath(root, path),
    openFile,
    openDirectory: async (path: string): Promise<FileHandle> =>
      walk(root, await resolveInside(root, relativePath(root, path)), false, share),
    /** Opens a direct subdirectory of an open directory; follows no symlink. */
    enter: (directory: FileHandle, name: string): Promise<FileHandle> =>
      enter(at(directory, name), false, share),
    /** Opens a directory without following symlinks. A missing one is created with `make`, else undefined. */
    async openFolder(path: string, { make } = { make: false }): Promise<AnchoredFolder | undefined> {
      const parts = relativePath(root, path)
        .split(sep)
        .filter((part) => part !== '.');
      try {
        return anchoredFolder(await walk(root, parts, make, share), share);
      } catch (error) {
        if (!make && hasCode(error, 'ENOENT')) return undefined;
        throw error;
      }
    },
  };
}

/** Returns the path relative to the root. Throws a ToolError, which the model can act on, for an invalid path. */
function relativePath(root: string, path: string): string {
  if (path.includes('\0')) throw new ToolError('a path must not contain a null byte');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw new ToolError('the path is too long');
  const [foreign] = /^\s*(?:\.\/+)*(?:~(?=\/|$)|file:\/\/)/i.exec(path) ?? [];
  if (foreign !== undefined) {
    const rest = path.slice(foreign.length);
    const meant = foreign.endsWith('~') ? rest.replace(/^\/+/, '') : rest;
    throw new ToolError(
      `${shown(path)}: paths are relative to the workspace: write ${relativePath(root, meant)}`,
    );
  }
  const inside = normalize(isAbsolute(path) ? relative(root, path) || '.' : path || '.').replace(/\/$/, '');
  if (inside === '..' || inside.startsWith(`..${sep}`)) throw outside();
  refuseGit(inside.split(sep));
  return inside;
}

const MAX_SHOWN_CHARS = 200;
const shown = (path: string): string => JSON.stringify(path.slice(0, MAX_SHOWN_CHARS));

const outside = (): ToolError =>
  new ToolError('the path leads out of the workspace; use one relative to the workspace');

function refuseGit(parts: readonly string[]): void {
  if (parts.some((part) => part.toLowerCase() === '.git')) {
    throw new ToolError('.git is off limits for file tools; use git through shell_exec');
  }
}

/** Components of the path below the root: the existing part with symlinks resolved, the rest as written. */
async function resolveInside(root: string, inside: string): Promise<string[]> {
  let existing = join(root, inside);
  const fresh: string[] = [];
  for (;;) {
    try {
      const real = await realpath(existing);
      if (real !== root && !real.startsWith(root + sep)) throw outside();
      const parts = [...relative(root, real).split(sep).filter(Boolean), ...fresh];
      refuseGit(parts);
      return parts;
    } catch (error) {
      if (!hasCode(error, 'ENOENT') || existing === root) throw error;
      fresh.unshift(basename(existing));
      existing = dirname(existing);
    }
  }
}

async function walk(
  root: string,
  parts: readonly string[],
  make: boolean,
  share: Share,
): Promise<FileHandle> {
  let directory = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  for (const part of parts) {
    try {
      const next = await enter(at(directory, part), make, share);
      await directory.close();
      directory = next;
    } catch (error) {
      await directory.close();
      throw error;
    }
  }
  return directory;
}

async function enter(path: string, make: boolean, share: Share): Promise<FileHandle> {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  try {
    return await open(path, flags);
  } catch (error) {
    if (!make || !hasCode(error, 'ENOENT')) throw error;
    await mkdir(path).catch((cause) => {
      if (!hasCode(cause, 'EEXIST')) throw cause;
    });
    const made = await open(path, flags);
    await share(made);
    return made;
  }
}

async function openLeaf(path: string, mode: 'read' | 'edit' | 'create', share: Share): Promise<FileHandle> {
  const safe = O_NOFOLLOW | O_NONBLOCK;
  if (mode === 'read') return open(path, O_RDONLY | safe);
  if (mode === 'edit') return open(path, O_RDWR | safe);
  try {
    const made = await open(path, O_RDWR | O_CREAT | O_EXCL | safe, 0o644);
    await share(made);
    return made;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return open(path, O_RDWR | safe);
  }
}
