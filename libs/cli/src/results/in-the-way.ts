import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '@hermes-fleet/protocol';
import { type Git, namesIn } from '../git/git.ts';

/** Paths of one call of git, far below the limits of a command line. */
const PATHS_PER_CALL = 200;

/**
 * The files of a working tree that git does not track, at paths that it is to write or in place of a folder of them. Git itself
 * protects those files only that no `.gitignore` names.
 */
export async function filesInTheWay(git: Git, added: readonly string[]): Promise<string[]> {
  const there = new Set<string>();
  const known = new Map<string, Promise<'folder' | 'file' | undefined>>();
  for (const path of added) {
    const parts = path.split('/');
    for (const [place] of parts.entries()) {
      const part = parts.slice(0, place + 1).join('/');
      const kind = known.get(part) ?? kindOf(join(git.cwd, part));
      known.set(part, kind);
      const found = await kind;
      const isLast = place === parts.length - 1;
      if (found === 'file' || (found === 'folder' && isLast)) there.add(part);
      if (found !== 'folder') break;
    }
  }
  const paths = [...there];
  const list = ['ls-files', '--others', '--directory', '--no-empty-directory', '-z', '--'];
  const env = { GIT_LITERAL_PATHSPECS: '1' };
  const found: string[] = [];
  for (let at = 0; at < paths.length; at += PATHS_PER_CALL)
    found.push(...(await namesIn(git, [...list, ...paths.slice(at, at + PATHS_PER_CALL)], { env })));
  return found;
}

/** A link is a file, also one to a folder. */
async function kindOf(path: string): Promise<'folder' | 'file' | undefined> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
