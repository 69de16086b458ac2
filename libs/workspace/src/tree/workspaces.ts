import { access, readdir, realpath, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, FleetError, type Ids, type Log } from '@hermes-fleet/protocol';
import { type Confinement, makeSharedDirectory } from '../confinement/confinement.ts';
import { contextName } from './context-name.ts';
import { createGit, type Git } from './git.ts';
import { inPlace, inPlaceState } from './in-place.ts';
import { openRepository, type Repository } from './repository.ts';
import { type TreeState, treeState } from './tree-state.ts';
import { createTurns } from './turns.ts';
import type { Workspaces } from './workspace.ts';
import { worktree } from './worktree.ts';

const STATE_MS = 2000;

export interface WorkspacesOptions {
  readonly profile: string;
  readonly root: string;
  /** `workspace.path`: the user's own repository. */
  readonly path: string | undefined;
  /** `in_place`: all contexts work in the repository's own tree, one task at a time. */
  readonly isolation: 'worktree' | 'in_place';
  readonly confinement: Confinement;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

interface Parts extends WorkspacesOptions {
  readonly contexts: string;
  readonly git: Git;
  readonly repository: Repository;
}

/**
 * Opens the base repository and provides working trees (docs/decisions/0012-worktree-per-context.md): to every context
 * its own worktree, which is created on first use and reused after a restart; or, in place, the base tree to one run at
 * a time (docs/configuration.md#working-in-place).
 */
export async function openWorkspaces(options: WorkspacesOptions): Promise<Workspaces> {
  const root = await realpath(options.root);
  const git = createGit(options);
  const contexts = join(root, 'contexts');
  await makeSharedDirectory(contexts, options.confinement.otherUser);
  const { path, confinement } = options;
  const isInPlace = options.isolation === 'in_place';
  const repository = await openRepository({ root, path, inPlace: isInPlace, git, confinement });
  const parts: Parts = { ...options, contexts, git, repository };
  const measure = isInPlace ? inPlaceState : treeState;
  const state = measured(options.clock, () => measure(git, repository.place));
  return {
    open: isInPlace ? openInPlace(parts, state.forget) : openWorktrees(parts),
    repoState: state.read,
    trees: async () => (isInPlace ? [repository.dir] : await treesIn(contexts)),
  };
}

async function treesIn(contexts: string): Promise<string[]> {
  const entries = await readdir(contexts, { withFileTypes: true });
  const trees = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  return trees.map(({ name }) => join(contexts, name));
}

function openWorktrees(parts: Parts): Workspaces['open'] {
  const { git, repository, contexts } = parts;
  let adding: Promise<unknown> = Promise.resolve();

  async function add(name: string, dir: string): Promise<void> {
    const { place } = repository;
    const branch = `fleet/${name}`;
    if (await exists(dir)) await rename(dir, join(contexts, `.broken-${parts.ids.uuid()}`));
    await git.run(place, ['worktree', 'prune']);
    const known = (await git.ask(place, ['rev-parse', '-q', '--verify', `refs/heads/${branch}`])) === 0;
    const from = known ? [dir, branch] : ['--no-track', '-b', branch, dir, 'HEAD'];
    await git.run(place, ['worktree', 'add', '-q', ...from]);
  }

  return async (contextId) => {
    const name = contextName(contextId);
    const dir = join(contexts, name);
    const workspace = worktree({ ...parts, name, dir });
    const opened = adding.then(async () => {
      if (await workspace.ready()) return;
      await add(name, dir);
      if (await workspace.ready()) return;
      throw new FleetError(
        'INTERNAL',
        `the worktree of context ${name} could not be created; the log has the reason`,
      );
    });
    adding = opened.catch(() => {});
    await opened;
    return workspace;
  };
}

function openInPlace(parts: Parts, onRelease: () => void): Workspaces['open'] {
  const turns = createTurns();
  const startedAt = parts.clock.now();
  return async (_contextId, { resumes, signal }) => {
    const taken = await turns.take({ first: resumes, signal });
    const turn: Disposable = {
      [Symbol.dispose]() {
        onRelease();
        taken[Symbol.dispose]();
      },
    };
    try {
      return await inPlace({ ...parts, startedAt, turn });
    } catch (error) {
      turn[Symbol.dispose]();
      throw error;
    }
  };
}

/** Caches a measurement for `STATE_MS`; a failed one is not cached. */
function measured(
  clock: Clock,
  measure: () => Promise<TreeState>,
): { read(): Promise<TreeState>; forget(): void } {
  let last: { at: number; state: Promise<TreeState> } | undefined;
  const forget = (): void => {
    last = undefined;
  };
  return {
    read() {
      const now = clock.now();
      if (last === undefined || now - last.at >= STATE_MS) {
        last = { at: now, state: measure() };
        last.state.catch(forget);
      }
      return last.state;
    },
    forget,
  };
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
