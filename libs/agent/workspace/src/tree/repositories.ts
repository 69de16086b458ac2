import { randomUUID } from 'node:crypto';
import { lstat, readdir, realpath, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Clock, Log, RepoState } from '@hermes-fleet/protocol/ports';
import { type Confinement, makePassableDirectory } from '../confinement/confinement.ts';
import type { Git } from '../git/git.ts';
import { unlessAbsent } from '../process/system-error.ts';
import { type Base, type OriginOf, openBase, ownOrigin } from '../stores/base.ts';
import { cloneOrigin, openSource } from '../stores/clone-origin.ts';
import type { Remote } from '../stores/remote.ts';
import { remoteOrigin } from '../stores/remote-origin.ts';
import type { CommitSettings } from '../stores/result-commit.ts';
import { openResults, type Results } from '../stores/results.ts';
import { usersRepository } from '../stores/users-repository.ts';
import { refusedRepository } from '../stores/workspace-refused.ts';
import { measured, unusableState } from './measured.ts';
import type { SetUpCommands } from './run-set-up.ts';
import { createSetUpCache, type SetUpCache } from './set-up-cache.ts';

/** A repository at a forge, and what prepares its trees. */
export interface RemoteRepository extends Remote {
  readonly setUp?: SetUpCommands | undefined;
}

/** The stores of a repository: contexts start from the one, and their results end in the other. */
export interface Repository {
  /** For results; null for one of the profile's own. */
  readonly name: string | null;
  readonly base: Base;
  readonly results: Results;
  /** Prepares the trees of new contexts, if that is configured. */
  readonly setUps: SetUpCache | undefined;
  /** At most 2 s old. Throws CAPACITY when no process can be started. */
  state(): Promise<RepoState>;
}

export interface RepositoriesOptions {
  readonly profile: string;
  readonly root: string;
  /** The folder with all contexts, whatever they work on. */
  readonly contexts: string;
  readonly path: string | undefined;
  readonly setUp?: SetUpCommands | undefined;
  readonly repositories?: readonly RemoteRepository[] | undefined;
  readonly commits?: CommitSettings | undefined;
  readonly confinement: Confinement;
  readonly git: Git;
  readonly clock: Clock;
  readonly log: Log;
}

export type Repositories = Awaited<ReturnType<typeof openRepositories>>;

/**
 * Opens the repositories of a workspace: the user's or the profile's own, whose stores are in `root`, and those that are configured by
 * name, whose stores are in `root/repos/<name>` and are opened on first use. One that is not configured any more stays for its contexts
 * and results.
 */
export async function openRepositories(options: RepositoriesOptions) {
  const { root, clock, log, confinement } = options;
  const repos = join(root, 'repos');
  const remotes = new Map((options.repositories ?? []).map((remote) => [remote.name, remote]));
  const opened = new Map<string, Promise<Repository>>();
  const running = new Set<string>();

  async function openStores(
    dir: string,
    name: string | null,
    base: Base,
    commands: SetUpCommands | undefined,
  ): Promise<Repository> {
    const results = await openResults({ ...options, dir: join(dir, 'results.git'), base });
    const setUps = commands && createSetUpCache(commands, { ...options, root: dir, running, base });
    const { read } = measured(clock, async () => {
      const broken = (await base.broken())
        ? 'base.git'
        : (await results.broken())
          ? 'results.git'
          : undefined;
      if (broken === undefined) return base.state();
      return unusableState(`git cannot read ${broken} in the workspace; restart the profile to repair it`);
    });
    return { name, base, results, setUps, state: read };
  }

  async function openNamed(name: string): Promise<Repository> {
    const dir = join(repos, name);
    for (const folder of [repos, dir]) await makePassableDirectory(folder, confinement.otherUser);
    const remote = remotes.get(name);
    const originOf: OriginOf = (git, store) =>
      remote === undefined ? ownOrigin(git, store) : remoteOrigin(git, store, remote, { clock, log });
    const base = await openBase({ ...options, dir: join(dir, 'base.git') }, originOf);
    return openStores(dir, name, base, remote?.setUp);
  }

  function named(name: string): Promise<Repository> {
    const known = opened.get(name);
    if (known !== undefined) return known;
    const opening = openNamed(name);
    opened.set(name, opening);
    opening.catch(() => opened.delete(name));
    return opening;
  }

  const main = await openStores(root, nameOf(options), await openMainBase(options), options.setUp);
  return {
    /** The user's repository, or the profile's own. */
    main,
    /** A configured repository, for a new context. Throws WorkspaceRefused when there is none of this name. */
    configured: async (name: string): Promise<{ readonly repository: Repository; readonly base: string }> => {
      const remote = remotes.get(name);
      if (remote === undefined)
        throw refusedRepository(name, `repository ${name} is not in workspace.repositories here`, false);
      return { repository: await named(name), base: remote.base };
    },
    /** A repository of which the workspace has contexts or results, configured or not. */
    named,
    /** All repositories that have stores. */
    async all(): Promise<Repository[]> {
      const names = (await readdir(repos).catch(unlessAbsent)) ?? [];
      return [main, ...(await Promise.all(names.map(named)))];
    },
  };
}

async function openMainBase(options: RepositoriesOptions): Promise<Base> {
  const { root, path, confinement, log } = options;
  const dir = path === undefined ? await ownRepository(root) : await usersRepository(path);
  const base = { ...options, dir: join(root, 'base.git') };
  if (dir === undefined) return openBase(base, ownOrigin);
  try {
    return await openBase(base, (git, store) => cloneOrigin(git, store, openSource(dir, confinement)));
  } catch (error) {
    if (path !== undefined) throw error;
    // A repository of the profile's own that is broken is moved aside, and a new base takes its place.
    const broken = `${dir}.broken-${randomUUID()}`;
    await rename(dir, broken);
    log.error({ err: error, dir, broken }, 'a broken repository was moved aside');
    return openBase(base, ownOrigin);
  }
}

/** A workspace that was used in place without `workspace.path` has a repository with a tree, which contexts start from. */
const ownRepository = (root: string): Promise<string | undefined> =>
  lstat(join(root, 'repo', '.git')).then(
    () => realpath(join(root, 'repo')),
    () => undefined,
  );

/** The name that results have for the user's repository: that of its folder; null for one of the profile's own. */
export const nameOf = ({ path }: Pick<RepositoriesOptions, 'path'>): string | null =>
  path === undefined ? null : basename(path);
