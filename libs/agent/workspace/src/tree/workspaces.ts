import { randomUUID } from 'node:crypto';
import { lstat, realpath, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock, Log, RepoState } from '@hermes-fleet/protocol/ports';
import { type Confinement, makePassableDirectory } from '../confinement/confinement.ts';
import { anchoredFiles } from '../files/anchored-path.ts';
import { createGit, type Git } from '../git/git.ts';
import { capacityOf, isThere } from '../process/system-error.ts';
import { type Base, openBase, openSource, type Source } from '../stores/base.ts';
import { contextName } from '../stores/context-name.ts';
import type { Remote } from '../stores/remote.ts';
import type { CommitSettings } from '../stores/result-commit.ts';
import { openResults, type Results } from '../stores/results.ts';
import { openPassing, passing } from '../stores/store.ts';
import { createTaskResults } from '../stores/task-results.ts';
import { usersRepository } from '../stores/users-repository.ts';
import { contextNames, markUsed } from './context-folder.ts';
import { type ContextPlace, openContextPlace } from './context-place.ts';
import { createContextStore } from './context-store.ts';
import { openContextTree } from './context-tree.ts';
import { createContextUses } from './context-uses.ts';
import { inPlace, inPlaceState, openRepository, type Repository } from './in-place.ts';
import type { SetUpCommands } from './run-set-up.ts';
import { createSavedTrees } from './saved-trees.ts';
import { createSetUpCache } from './set-up-cache.ts';
import { readSetUp, recordSetUp, toMend } from './set-up-report.ts';
import { createTurns } from './turns.ts';
import type { OpenTree, Workspace, Workspaces } from './workspace.ts';

const STATE_MS = 2000;
const UNMARKED = 'the time of the last use of a context cannot be recorded';

/** A repository at a forge, and what prepares its trees. */
export interface RemoteRepository extends Remote {
  readonly setUp?: SetUpCommands | undefined;
}

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

async function openContexts(parts: Parts): Promise<Workspaces> {
  const { root, contexts, confinement, clock, log } = parts;
  const repository = repositoryName(parts);
  const dir = parts.path === undefined ? await ownRepository(root) : await usersRepository(parts.path);
  const base = await openBaseFrom(dir === undefined ? undefined : openSource(dir, confinement), parts);
  const results = await openResults({ ...parts, dir: join(root, 'results.git'), base });
  const saved = createSavedTrees();
  const uses = createContextUses();
  const setUps = parts.setUp && createSetUpCache(parts.setUp, { ...parts, base });
  const state = measured(clock, async () => {
    const problem = await problemOf(base, results);
    return problem === undefined ? base.state() : unusable(problem);
  });
  return {
    async openWorkspace(contextId, options) {
      const name = contextName(contextId);
      const dir = join(contexts, name);
      await using opening = new AsyncDisposableStack();
      opening.use(await uses.use(name, 'task', options.signal));
      const prepare =
        setUps &&
        (async (place: ContextPlace, commit: string) => {
          const failure = await setUps.apply(place, commit, options);
          await recordSetUp(dir, { commands: parts.setUp?.commands ?? [], failure });
        });
      const workspace = await openContextTree({
        ...parts,
        name,
        repository,
        dir,
        base,
        results,
        saved,
        prepare,
      });
      opening.defer(() =>
        markUsed(dir, contextId, clock).catch((err) => log.warn({ context: name, err }, UNMARKED)),
      );
      opening.use(workspace);
      await markUsed(dir, contextId, clock);
      const setUp = await readSetUp(dir);
      const opened = opening.move();
      return {
        ...workspace,
        ...(setUp && {
          setUp,
          async commit(...args) {
            const ended = await workspace.commit(...args);
            return { ...ended, left: [...ended.left, ...toMend(setUp)] };
          },
        }),
        [Symbol.asyncDispose]: () => opened.disposeAsync(),
      };
    },
    repoState: state.read,
    async trees() {
      return (await contextNames(contexts)).map((name) => ({
        dir: join(contexts, name, 'tree'),
        async openTree() {
          await using opening = new AsyncDisposableStack();
          opening.use(await uses.use(name, 'look'));
          const dir = join(contexts, name);
          if (!(await isThere(dir))) return undefined;
          const place = opening.use(await openContextPlace(dir, confinement, base, parts));
          const opened = opening.move();
          return { ...place, [Symbol.asyncDispose]: () => opened.disposeAsync() };
        },
      }));
    },
    contexts: createContextStore({ ...parts, uses, base, results, setUps }),
    results: createTaskResults({
      git: parts.git,
      place: results.place,
      passing: results.passing,
      baseOf: async (contextId) => (await results.refs(contextName(contextId))).base,
      isShallow: async () => (await results.shallow()).length > 0,
      log,
    }),
  };
}

/** A repository of the profile's own that is broken is moved aside, and a new base takes its place. */
async function openBaseFrom(source: Source | undefined, parts: Parts): Promise<Base> {
  const options = { ...parts, dir: join(parts.root, 'base.git') };
  try {
    return await openBase({ ...options, source });
  } catch (error) {
    if (source === undefined || parts.path !== undefined) throw error;
    const broken = `${source.dir}.broken-${randomUUID()}`;
    await rename(source.dir, broken);
    parts.log.error({ err: error, dir: source.dir, broken }, 'a broken repository was moved aside');
    return openBase({ ...options, source: undefined });
  }
}

async function problemOf(base: Base, results: Results): Promise<string | undefined> {
  const broken = (await base.broken()) ? 'base.git' : (await results.broken()) ? 'results.git' : undefined;
  return broken && `git cannot read ${broken} in the workspace; restart the profile to repair it`;
}

/** A workspace that was used in place without `workspace.path` has a repository with a tree, which contexts start from. */
const ownRepository = (root: string): Promise<string | undefined> =>
  lstat(join(root, 'repo', '.git')).then(
    () => realpath(join(root, 'repo')),
    () => undefined,
  );

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
      const name = repositoryName(parts);
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

/** The name that results have for the repository: that of its folder; null for one of the profile's own. */
const repositoryName = ({ path }: WorkspacesOptions): string | null =>
  path === undefined ? null : basename(path);

const unusable = (problem: string): RepoState => ({ branch: '', clean: true, problem });

/**
 * Caches a measurement for `STATE_MS`, unless it found changes, which somebody may commit at once. One that fails is a problem of the
 * repositories, unless there is no room for git.
 */
function measured(
  clock: Clock,
  measure: () => Promise<RepoState>,
): { read(): Promise<RepoState>; forget(): void } {
  let last: { at: number; value: Promise<RepoState> } | undefined;
  const forget = (): void => {
    last = undefined;
  };
  return {
    read() {
      const now = clock.now();
      if (last === undefined || now - last.at >= STATE_MS) {
        const value = measure().then(
          (state) => {
            if (!state.clean) forget();
            return state;
          },
          (error) => {
            if (capacityOf(error) === undefined)
              return unusable(error instanceof Error ? error.message : String(error));
            forget();
            throw error;
          },
        );
        last = { at: now, value };
      }
      return last.value;
    },
    forget,
  };
}
