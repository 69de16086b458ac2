import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Confinement, Reach } from '../confinement/confinement.ts';
import { addAll } from './add-all.ts';
import type { Git, GitPlace } from './git.ts';
import { isInPlaceBase, startedElsewhere } from './in-place-base.ts';
import type { Repository } from './repository.ts';
import { lockedSince } from './tree-state.ts';
import {
  LEFT_OUT,
  NAMES,
  pathsOf,
  READABLE,
  shortened,
  type Uncommitted,
  type Workspace,
} from './workspace.ts';

/** A context's git worktree on the branch `fleet/<name>`. It may not exist yet. */
export function worktree(options: {
  readonly name: string;
  readonly dir: string;
  readonly repository: Repository;
  readonly git: Git;
  readonly confinement: Confinement;
}): Workspace & { ready(): Promise<boolean> } {
  const { git, dir, repository } = options;
  const gitDir = join(repository.gitDir, 'worktrees', options.name);
  const reach: Reach = {
    writable: [dir, repository.gitDir],
    readOnly: [join(repository.gitDir, 'config'), join(repository.gitDir, 'hooks')],
  };
  const wrap: Workspace['wrap'] = (command, args) => options.confinement.wrap(command, args, reach);
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap };

  /** No command runs at this time and nobody else works here, so an index lock belongs to a killed git. */
  async function stage(): Promise<Uncommitted | undefined> {
    if ((await lockedSince(gitDir)) !== undefined) await git.script(place, UNLOCK, [gitDir]);
    return addAll(git, place);
  }

  async function commit(message: string): Promise<Uncommitted | undefined> {
    const left = await stage();
    if ((await git.ask(place, ['diff', '--cached', '--quiet', '--no-ext-diff'])) === 0) return left;
    await git.run(place, ['commit', '-q', '--no-verify', '-m', message]);
    return left;
  }

  return {
    dir,
    branch: `fleet/${options.name}`,
    wrap,
    async begin() {
      await commit('What an earlier task left behind');
      return { base: (await git.run(place, ['rev-parse', '--verify', 'HEAD'])).trim() };
    },
    async resume(base) {
      if (isInPlaceBase(base)) throw startedElsewhere('the working tree of the repository');
    },
    commit,
    leave: commit,
    changedSince: async (base) =>
      pathsOf(await git.run(place, ['diff', ...NAMES, base, 'HEAD', ...LEFT_OUT])),
    async diffSince(base, maxChars) {
      await stage();
      const diff = await git.run(place, ['diff', '--cached', ...READABLE, base, ...LEFT_OUT]);
      return shortened(diff, maxChars);
    },
    async ready() {
      const found = await lstat(dir).catch(() => undefined);
      if (!found?.isDirectory()) return false;
      const code = await git.script(place, READY, [gitDir, join(dir, '.git')]);
      if (code === 0 || code === NOT_OURS) return code === 0;
      throw new FleetError(
        'INTERNAL',
        `the worktree of context ${options.name} cannot be opened (exit code ${code})`,
      );
    },
    [Symbol.dispose]() {},
  };
}

const NOT_OURS = 90;
/** Only one turn at a time works in a context, so an existing index lock belongs to a killed git. */
const UNLOCK = 'rm -f "$1/index.lock"';
/** Exits with `NOT_OURS` when the directory is not this repository's worktree. */
const READY = `test "$(cat "$1/gitdir")" = "$2" || exit ${NOT_OURS}; ${UNLOCK}`;
