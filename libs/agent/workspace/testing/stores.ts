import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ContextStore } from '../src/tree/workspace.ts';
import type { Contexts } from './contexts.ts';

/** Looks at the stores of a workspace from outside. */
export function storesOf(contexts: Contexts) {
  const { place, workspaces } = contexts;
  const root = place.workspaceRoot;
  const store: ContextStore | undefined = workspaces.contexts;
  if (store === undefined) throw new Error('this workspace has no contexts');
  return {
    root,
    store,
    /** The folders of contexts, and of those that are being removed. */
    folders: (): string[] => readdirSync(join(root, 'contexts')).sort(),
    git: (folder: string, ...args: string[]): string =>
      execFileSync('git', ['-C', join(root, folder), ...args], { encoding: 'utf8', stdio: 'pipe' }).trim(),
    /** A hash of the names, modes, owners and contents of a context's files, as its commands see them. */
    async fingerprint(contextId: string): Promise<string> {
      await using workspace = await contexts.open(contextId);
      const { exitCode, stdout, stderr } = await contexts.sh(workspace, FINGERPRINT);
      if (exitCode !== 0) throw new Error(stderr);
      return stdout;
    },
  };
}

const FINGERPRINT = `set -e; for dir in . "$HOME"; do
  (cd "$dir"; find . -printf '%p %m %U %G %s %y\\n' | sort; find . -type f -exec sha256sum {} + | sort); done | sha256sum`;

/** The ids of all objects that a store itself has, reachable or not. */
export function objectsOf({ place }: Pick<Contexts, 'place'>, folder: string): string[] {
  const format = '--batch-check=%(objectname)';
  const env = { ...process.env, GIT_ALTERNATE_OBJECT_DIRECTORIES: '' };
  const dir = join(place.workspaceRoot, folder);
  const args = ['-C', dir, 'cat-file', format, '--batch-all-objects'];
  const own = new Set(execFileSync('git', args, { encoding: 'utf8', env }).split('\n'));
  const base = ['-C', join(place.workspaceRoot, 'base.git'), 'cat-file', format, '--batch-all-objects'];
  if (folder !== 'base.git')
    for (const id of execFileSync('git', base, { encoding: 'utf8' }).split('\n')) own.delete(id);
  return [...own].filter((id) => id !== '');
}
