import { access, lstat, realpath, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, FleetError, type Ids, type Log } from '@hermes-fleet/protocol';
import type { Confinement, Reach } from '../confinement/confinement.ts';
import { makeSharedDirectory } from '../confinement/confinement.ts';
import type { CommandLine } from '../process/run-command.ts';
import { contextName } from './context-name.ts';
import { createGit, type Git, type GitPlace } from './git.ts';
import { openRepository, type Repository } from './repository.ts';

/** The working tree of one context: a git worktree on a branch of its own. */
export interface Workspace {
  readonly dir: string;
  readonly branch: string;
  /** A command line confined to this worktree and the repository's objects. */
  wrap(command: string, args: readonly string[]): CommandLine;
  /** The commit that the worktree stands on. */
  head(): Promise<string>;
  /** Commits everything but `.scratch/` and PROGRESS.json; nothing when nothing changed. */
  commit(message: string): Promise<void>;
  /** Paths that differ between `base` and the last commit, sorted; deleted ones included. */
  changedSince(base: string): Promise<string[]>;
}

export interface Workspaces {
  /** The context's worktree, made on first use and found again after a restart. */
  open(contextId: string): Promise<Workspace>;
  /** The base repository's branch and whether its tree is clean; measured at most every 2 s. */
  repoState(): Promise<{ branch: string; clean: boolean }>;
}

const STATE_MS = 2000;
/** Left out of commits and of `files_changed` (design 2, Write tasks). */
const LEFT_OUT = ['--', '.', ':(exclude,top).scratch', ':(exclude,top)PROGRESS.json'];

export interface WorkspacesOptions {
  readonly profile: string;
  readonly root: string;
  /** `workspace.path`: a repository of the user's. */
  readonly path: string | undefined;
  readonly confinement: Confinement;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Opens the base repository and hands out worktrees (design 2, Write tasks). */
export async function openWorkspaces(o: WorkspacesOptions): Promise<Workspaces> {
  const root = await realpath(o.root);
  const git = createGit(o);
  const contexts = join(root, 'contexts');
  await makeSharedDirectory(contexts, o.confinement.otherUser);
  const repository = await openRepository({ root, path: o.path, git, confinement: o.confinement });
  let last: { at: number; state: Promise<{ branch: string; clean: boolean }> } | undefined;
  let adding: Promise<unknown> = Promise.resolve();

  async function add(name: string, dir: string): Promise<void> {
    const { place } = repository;
    const branch = `fleet/${name}`;
    if (await exists(dir)) await rename(dir, join(contexts, `.broken-${o.ids.uuid()}`));
    await git.run(place, ['worktree', 'prune']);
    const known = (await git.ask(place, ['rev-parse', '-q', '--verify', `refs/heads/${branch}`])) === 0;
    const from = known ? [dir, branch] : ['--no-track', '-b', branch, dir, 'HEAD'];
    await git.run(place, ['worktree', 'add', '-q', ...from]);
  }

  return {
    async open(contextId) {
      const name = contextName(contextId);
      const dir = join(contexts, name);
      const workspace = worktree({ name, dir, repository, git, confinement: o.confinement });
      const opened = adding.then(async () => {
        if (await workspace.ready()) return;
        await add(name, dir);
        if (await workspace.ready()) return;
        throw new FleetError(
          'INTERNAL',
          `the worktree of context ${name} could not be made; the log has the reason`,
        );
      });
      adding = opened.catch(() => {});
      await opened;
      return workspace;
    },
    repoState() {
      const now = o.clock.now();
      if (last === undefined || now - last.at >= STATE_MS) {
        last = { at: now, state: measure(git, repository.place) };
        last.state.catch(() => {
          last = undefined;
        });
      }
      return last.state;
    },
  };
}

function worktree(o: {
  name: string;
  dir: string;
  repository: Repository;
  git: Git;
  confinement: Confinement;
}): Workspace & { ready(): Promise<boolean> } {
  const { git, dir, repository } = o;
  const gitDir = join(repository.gitDir, 'worktrees', o.name);
  const reach: Reach = {
    writable: [dir, repository.gitDir],
    readOnly: [join(repository.gitDir, 'config'), join(repository.gitDir, 'hooks')],
  };
  const wrap: Workspace['wrap'] = (command, args) => o.confinement.wrap(command, args, reach);
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap };
  return {
    dir,
    branch: `fleet/${o.name}`,
    wrap,
    head: async () => (await git.run(place, ['rev-parse', '--verify', 'HEAD'])).trim(),
    async commit(message) {
      await git.run(place, ['add', '--all', ...LEFT_OUT]);
      if ((await git.ask(place, ['diff', '--cached', '--quiet', '--no-ext-diff'])) === 0) return;
      await git.run(place, ['commit', '-q', '--no-verify', '-m', message]);
    },
    async changedSince(base) {
      const how = ['--name-status', '-z', '--no-renames', '--no-ext-diff', '--no-textconv'];
      const fields = (await git.run(place, ['diff', ...how, base, 'HEAD', ...LEFT_OUT])).split('\0');
      return fields.filter((_, index) => index % 2 === 1).sort();
    },
    async ready() {
      const found = await lstat(dir).catch(() => undefined);
      if (!found?.isDirectory()) return false;
      const code = await git.script(place, READY, [gitDir, join(dir, '.git')]);
      if (code === 0 || code === NOT_OURS) return code === 0;
      throw new FleetError(
        'INTERNAL',
        `the worktree of context ${o.name} cannot be opened (exit code ${code})`,
      );
    },
  };
}

const NOT_OURS = 90;
/**
 * Whether the directory is the repository's worktree. One turn at a time works in a context, so an index lock that is
 * there belongs to a git that was killed.
 */
const READY = `test "$(cat "$1/gitdir")" = "$2" || exit ${NOT_OURS}; rm -f "$1/index.lock"`;

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function measure(git: Git, place: GitPlace): Promise<{ branch: string; clean: boolean }> {
  const lines = (await git.run(place, ['status', '--porcelain=v2', '--branch', '-z', ...LEFT_OUT])).split(
    '\0',
  );
  const head = lines.find((line) => line.startsWith('# branch.head '));
  const branch = head?.slice('# branch.head '.length) ?? '';
  return { branch, clean: lines.every((line) => line === '' || line.startsWith('#')) };
}
