import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Unmet } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log, RepoState } from '@hermes-fleet/protocol/ports';
import { type Confinement, makePassableDirectory } from '../confinement/confinement.ts';
import type { Git } from '../git/git.ts';
import { unlessAbsent } from '../process/system-error.ts';
import { type Base, type OriginOf, openBase, ownOrigin } from '../stores/base.ts';
import { checkoutOrigin } from '../stores/checkout-origin.ts';
import { cloneOrigin, openSource } from '../stores/clone-origin.ts';
import { createFetching } from '../stores/fetching.ts';
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
  readonly shortage?: (() => Unmet | undefined) | undefined;
  readonly confinement: Confinement;
  readonly git: Git;
  readonly clock: Clock;
  readonly log: Log;
}

interface Stores {
  readonly dir: string;
  /** For results. */
  readonly name: string | null;
  readonly originOf: OriginOf;
  readonly setUp: SetUpCommands | undefined;
  /** Only one context uses them. */
  readonly isPrivate?: boolean;
}

export type Repositories = Awaited<ReturnType<typeof openRepositories>>;

/**
 * Opens the repositories of a workspace (docs/decisions/0029-repositories-of-a-workspace.md): the user's or the profile's own, whose stores are in `root`, and those that are configured by
 * name, whose stores are in `root/repos/<name>` and are opened on first use. One that is not configured any more stays for its contexts
 * and results. A checkout of a caller has stores of its own for each context, in `root/checkouts/<context>`: what commands of other contexts
 * borrow from has nothing of it.
 */
export async function openRepositories(options: RepositoriesOptions) {
  const { root, clock, log, confinement } = options;
  const repos = join(root, 'repos');
  const checkouts = join(root, 'checkouts');
  const remotes = new Map((options.repositories ?? []).map((remote) => [remote.name, remote]));
  const opened = new Map<string, Promise<Repository>>();
  const running = new Set<string>();
  const fetchingParts = { records: confinement.records, log };

  async function openStores({ dir, name, originOf, setUp, isPrivate }: Stores): Promise<Repository> {
    const privateIn = isPrivate ? dir : undefined;
    const base = await openBase({ ...options, dir: join(dir, 'base.git'), privateIn }, originOf);
    return openBeside(base, dir, name, setUp);
  }

  async function openBeside(
    base: Base,
    dir: string,
    name: string | null,
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

  async function openIn(parent: string, folder: string, part: Omit<Stores, 'dir'>): Promise<Repository> {
    const dir = join(parent, folder);
    await makePassableDirectory(parent, confinement.otherUser);
    if (part.isPrivate) {
      await mkdir(dir, { recursive: true });
      // A crash leaves it open to the user that its context had.
      await chmod(dir, 0o700);
    } else await makePassableDirectory(dir, confinement.otherUser);
    return openStores({ dir, ...part });
  }

  /** Opens stores once, until that fails or they are forgotten. */
  function once(key: string, open: () => Promise<Repository>): Promise<Repository> {
    const known = opened.get(key);
    if (known !== undefined) return known;
    const opening = open();
    opened.set(key, opening);
    opening.catch(() => opened.delete(key));
    return opening;
  }

  function named(name: string): Promise<Repository> {
    const remote = remotes.get(name);
    const originOf: OriginOf = async (git, store) => {
      if (remote === undefined) return ownOrigin(git, store);
      const fetching = await createFetching(git, store, remote, fetchingParts);
      return remoteOrigin(git, store, remote, { fetching, clock, log });
    };
    return once(join(repos, name), () => openIn(repos, name, { name, originOf, setUp: remote?.setUp }));
  }

  /** The configured repository of this name. Throws WorkspaceRefused when there is none. */
  function configured(name: string): RemoteRepository {
    const remote = remotes.get(name);
    if (remote !== undefined) return remote;
    throw refusedRepository(name, `repository ${name} is not in workspace.repositories here`, false);
  }

  const main = await openBeside(await openMainBase(options), root, nameOf(options), options.setUp);
  const foldersIn = async (parent: string): Promise<string[]> =>
    ((await readdir(parent, { withFileTypes: true }).catch(unlessAbsent)) ?? []).flatMap((entry) =>
      entry.isDirectory() && !entry.name.startsWith('.') ? [entry.name] : [],
    );
  /** The one that cannot be opened keeps nobody from the others. */
  const openable = async (parent: string, open: (name: string) => Promise<Repository>) => {
    const names = await foldersIn(parent);
    const found = await Promise.allSettled(names.map(open));
    return found.flatMap((each, at) => {
      if (each.status === 'fulfilled') return [each.value];
      log.error({ repository: names[at], err: each.reason }, 'the stores of a repository cannot be opened');
      return [];
    });
  };
  return {
    /** The user's repository, or the profile's own. */
    main,
    /** Throws WorkspaceRefused when there is none of this name. */
    configured,
    /** A repository that is configured, or was. */
    named,
    /** The same, if it has stores. */
    existing: async (name: string): Promise<Repository | undefined> =>
      (await foldersIn(repos)).includes(name) ? named(name) : undefined,
    /** The checkout of a context's caller. `name`, that of the configured repository with the rest of its history, is kept. */
    async checkout(context: string, name?: string): Promise<Repository> {
      const dir = join(checkouts, context);
      const file = join(dir, 'name');
      const known = await opened.get(dir);
      // A crash may have come between the folder and its name.
      if (name !== undefined && known?.name === null) opened.delete(dir);
      return once(dir, async () => {
        const kept = name ?? (await readFile(file, 'utf8').catch(unlessAbsent)) ?? '';
        const remote = remotes.get(kept);
        const originOf: OriginOf = async (git, store) => {
          const fetching = remote && (await createFetching(git, store, remote, fetchingParts));
          const from = remote && fetching && { remote, fetching };
          return checkoutOrigin(git, store, { remote: from, ...fetchingParts, clock });
        };
        const part = { name: kept || null, originOf, setUp: remote?.setUp, isPrivate: true };
        const made = await openIn(checkouts, context, part);
        await writeFile(file, kept);
        return made;
      });
    },
    /** The names of the contexts that have a checkout. */
    checkouts: () => foldersIn(checkouts),
    /** Removes the checkout of a context that is gone, and its results. */
    async forgetCheckout(context: string): Promise<void> {
      opened.delete(join(checkouts, context));
      await rm(join(checkouts, context), { recursive: true, force: true });
    },
    /** All repositories but checkouts; without those that cannot be opened, which is logged. */
    all: async (): Promise<Repository[]> => [main, ...(await openable(repos, named))],
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
