import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type Confinement, makePassableDirectory } from '../confinement/confinement.ts';
import { anchoredFiles } from '../files/anchored-path.ts';
import { createGit, type Git } from '../git/git.ts';
import type { CommitSettings } from '../stores/result-commit.ts';
import { openPassing, passing } from '../stores/store.ts';
import { createTaskResults } from '../stores/task-results.ts';
import { openContexts } from './contexts.ts';
import { inPlace, inPlaceState, openRepository, type Repository } from './in-place.ts';
import { measured } from './measured.ts';
import { nameOf, type RemoteRepository } from './repositories.ts';
import type { SetUpCommands } from './run-set-up.ts';
import { createTurns } from './turns.ts';
import type { OpenTree, Workspace, Workspaces } from './workspace.ts';

export interface WorkspacesOptions {
  readonly profile: string;
  readonly root: string;
  /** `workspace.path`: the user's own repository. */
  readonly path: string | undefined;
  /** `in_place`: all contexts work in the repository's own tree, one task at a time. */
  readonly isolation: 'worktree' | 'in_place';
  /** How the commits of results are made. */
  readonly commits?: CommitSettings | undefined;
  /** Prepares the trees of new contexts; not in place. */
  readonly setUp?: SetUpCommands | undefined;
  /** The repositories that tasks may name; not in place. */
  readonly repositories?: readonly RemoteRepository[] | undefined;
  readonly confinement: Confinement;
  /** Names the disk while too little of it is free to take a bundle. */
  readonly shortage?: (() => Unmet | undefined) | undefined;
  /** True while a task of an earlier process is unfinished that left its work in the tree and commits it. Only in place. */
  readonly hasInterrupted?: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

interface Parts extends WorkspacesOptions {
  readonly contexts: string;
  readonly git: Git;
}

/**
 * Provides working trees (docs/decisions/0026-repository-per-context.md): to every context a repository of its own, which is
 * made on first use and found again after a restart; or, in place, the tree of the repository to one run at a time
 * (docs/configuration.md#working-in-place).
 */
export async function openWorkspaces(options: WorkspacesOptions): Promise<Workspaces> {
  const root = await realpath(options.root);
  const contexts = join(root, 'contexts');
  await makePassableDirectory(contexts, options.confinement.otherUser);
  const parts: Parts = { ...options, root, contexts, git: createGit(options) };
  return options.isolation === 'in_place' ? openInPlace(parts) : openContexts(parts);
}

async function openInPlace(parts: Parts): Promise<Workspaces> {
  const { git, clock } = parts;
  const repository = await openRepository(parts);
  await openPassing(parts.root);
  const turns = createTurns();
  /** The one task that works in the tree. */
  let holder: Workspace | undefined;
  /** Tasks that have left the tree, and would have committed what they changed. */
  let ended = 0;
  let isInterrupted = false;
  const hasOtherTasks = (): boolean => isInterrupted || (parts.hasInterrupted?.() ?? false);
  const isInUse = (): boolean => (holder?.beganClean() ?? false) || hasOtherTasks();
  const state = measured(clock, async () => {
    const before = { ended, inUse: isInUse() };
    const found = await inPlaceState(git, repository.place);
    // A task may have begun or ended while git looked.
    return found.clean ? found : { ...found, inUse: before.inUse || ended !== before.ended || isInUse() };
  });
  const startedAt = clock.now();
  return {
    async openWorkspace(_contextId, { resumes, signal }) {
      using opening = new DisposableStack();
      opening.use(await turns.takeTurn({ first: resumes, signal }));
      opening.defer(state.forget);
      const name = nameOf(parts);
      const workspace = await inPlace({ ...parts, repository, name, startedAt, hasOtherTasks });
      holder = workspace;
      opening.defer(() => {
        if (workspace.beganClean()) ended += 1;
        holder = undefined;
      });
      const turn = opening.move();
      return {
        ...workspace,
        async leave(message) {
          isInterrupted ||= workspace.beganClean();
          await workspace.leave(message);
        },
        [Symbol.asyncDispose]: async () => turn.dispose(),
      };
    },
    repoState: state.read,
    results: createTaskResults({
      git,
      place: repository.place,
      passing: () => passing(parts.root),
      baseOf: async () => undefined,
      isShallow: async () =>
        (await git.run(repository.place, ['rev-parse', '--is-shallow-repository'])).trim() === 'true',
      log: parts.log,
    }),
    trees: async () => [{ dir: repository.dir, openTree: async () => openRepositoryTree(repository, parts) }],
  };
}

const openRepositoryTree = ({ dir }: Repository, { confinement }: Parts): OpenTree => ({
  dir,
  files: anchoredFiles(dir, confinement.otherUser),
  wrap: (command, args) => confinement.wrap(command, args, { writable: [dir], readOnly: [] }),
  [Symbol.asyncDispose]: async () => {},
});
