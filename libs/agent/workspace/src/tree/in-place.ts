import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cutTo, FleetError, shownName } from '@hermes-fleet/protocol';
import { dirtyTree, MET, type Unmet, unmet } from '@hermes-fleet/protocol/handshake';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { type Confinement, makeSharedDirectory, type Reach } from '../confinement/confinement.ts';
import { anchoredFiles } from '../files/anchored-path.ts';
import { addAll, named, type Uncommitted } from '../git/add-all.ts';
import { findBuilds, ignoringBuilds } from '../git/build-files.ts';
import { createCommittedFiles } from '../git/committed-files.ts';
import { LEFT_OUT, NAMES, pathsOf, READABLE, shortened } from '../git/diff.ts';
import type { Git, GitPlace } from '../git/git.ts';
import { lockedSince, obstacle, treeState } from '../git/tree-state.ts';
import { authorEnv, type CommitSettings } from '../stores/result-commit.ts';
import { unusable, usersRepository } from '../stores/users-repository.ts';
import type { Workspace } from './workspace.ts';

export interface InPlaceOptions {
  readonly repository: Repository;
  /** The name of the repository, for results. */
  readonly name: string | null;
  readonly commits?: CommitSettings | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
  /** Start of this process's work in the tree, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** True while the uncommitted changes in the tree are those of another task, which was interrupted and will continue. */
  readonly hasOtherTasks?: (() => boolean) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Maximum wait for another git command, e.g. an editor's. */
const LOCK_MS = 5000;
const LOCK_STEP_MS = 100;
/** Overrides the repository's settings: untracked files would be committed. */
const ALL_FILES = ['--untracked-files=normal'];

/** The state of a tree, without whose its changes are. */
type TreeState = { readonly branch: string } & (
  | { readonly clean: true }
  | { readonly clean: false; readonly uncommitted: string }
);

/** The state of the tree in `place.cwd`. */
export async function inPlaceState(git: Git, place: GitPlace): Promise<TreeState> {
  const { branch, changed } = await treeState(git, place, ALL_FILES);
  if (changed.length === 0) return { branch, clean: true };
  const where = `${place.cwd} is dirty (branch ${shownName(branch, 100)}; changed: `;
  return { branch, clean: false, uncommitted: `${where}${cutTo(named(changed), MAX_NAMES)})` };
}

/** Bounds what a refusal says of the changed files, characters. */
const MAX_NAMES = 200;

/**
 * Opens the base working tree itself, on its checked-out branch (docs/configuration.md#working-in-place). The work of a
 * task that found the tree clean is committed at its end. A task that found it dirty changes only files: the user's
 * index and commits stay as they were. The base in the checkpoint tells a resume which case applies.
 */
export async function inPlace(options: InPlaceOptions): Promise<Workspace> {
  const { git, log } = options;
  const { dir, gitDir } = options.repository;
  const reach: Reach = {
    writable: [dir, gitDir],
    readOnly: [join(gitDir, 'config'), join(gitDir, 'hooks')],
  };
  const wrap: Workspace['wrap'] = (command, args, proxy) =>
    options.confinement.wrap(command, args, { ...reach, proxy });
  const builds = ignoringBuilds(gitDir);
  const place: GitPlace = {
    ...{ cwd: dir, gitDir, workTree: dir, wrap },
    env: { ...builds.env, ...authorEnv(options.commits ?? {}) },
  };
  const aside: GitPlace = { ...place, indexFile: join(gitDir, 'fleet-index') };
  const index = [join(gitDir, 'index'), join(gitDir, 'fleet-index')];
  await leaveOutBuilds();
  const { branch } = await inPlaceState(git, place);
  let commits = false;
  /** The commit that the task began from, while its work is committed. */
  let began: string | undefined;

  /** The branch that is checked out, and its commit; either is empty where there is none. */
  async function head(): Promise<{ readonly name: string; readonly commit: string }> {
    const [name = '', commit = ''] = (await git.script(place, HEAD, [])).stdout.split('\n');
    return { name, commit };
  }

  async function leaveOutBuilds(): Promise<void> {
    if (await findBuilds(git, place, gitDir)) return;
    log.warn(
      { repository: dir },
      'what builds leave in the working tree may be committed: .git/fleet is not writable',
    );
  }

  /** Adds all files to a private copy of the index; the copy saves git from reading unchanged files again. */
  async function stage(): Promise<void> {
    if ((await git.script(place, COPY, index)).exitCode !== 0)
      throw new FleetError('INTERNAL', 'the index of the working tree cannot be copied');
    await leaveOutBuilds();
    await addAll(git, aside);
  }

  /** Waits for another git command in the tree to end, at most `LOCK_MS`. */
  async function unlocked(): Promise<void> {
    const until = options.clock.now() + LOCK_MS;
    while ((await lockedSince(gitDir)) !== undefined && options.clock.now() < until)
      await options.clock.sleep(LOCK_STEP_MS);
  }

  async function tidy(): Promise<void> {
    await git.script(place, TIDY, [dir]);
    await leaveOutBuilds();
  }

  /** Commits the tree as it is, if it may be. Resolves with what stays uncommitted. */
  async function commitAll(message: string): Promise<Uncommitted[]> {
    if (!commits) return [uncommitted('was not fit for it when the task began')];
    await unlocked();
    const reason = await obstacle(git, place, gitDir);
    if (reason !== undefined) {
      log.warn({ reason }, 'task work left uncommitted in the working tree');
      return [uncommitted(reason)];
    }
    const { branch: now, clean } = await inPlaceState(git, place);
    if (now !== branch)
      log.warn(
        { from: branch, to: now },
        'branch switched during a task; its work is committed to the new branch',
      );
    if (clean) return [];
    const notAdded = await addAll(git, place);
    const left = notAdded === undefined ? [] : [notAdded];
    if (await git.ask(place, ['diff', '--cached', '--quiet', '--no-ext-diff'])) return left;
    await git.run(place, ['commit', '-q', '--no-verify', '-m', message]);
    return left;
  }

  /** Why a clean tree is not fit for a commit. A lock may go by itself; the rest, only a person or the task of it ends. */
  async function unfit(isOwned: boolean): Promise<readonly Unmet[]> {
    const reason = await obstacle(git, place, gitDir);
    if (reason === undefined) return MET;
    const mayPass = isOwned || (await lockedSince(gitDir)) !== undefined;
    return unmet('repo', branch, `the working tree ${dir} ${reason}; this is a write task`, mayPass);
  }

  return {
    dir,
    branch,
    files: anchoredFiles(dir, options.confinement.otherUser),
    env: { HOME: join(dir, '.scratch', 'home') },
    started: createCommittedFiles(git, place, 'HEAD', log),
    wrap,
    async begin(write) {
      await unlocked();
      const state = await inPlaceState(git, place);
      const isOwned = options.hasOtherTasks?.() ?? false;
      const found = state.clean ? await unfit(isOwned) : dirtyTree(branch, state.uncommitted, isOwned);
      const [refused] = found;
      if (refused !== undefined && write) return { refused };
      commits = refused === undefined;
      if (commits) {
        began = (await head()).commit;
        return { base: inPlaceBase('commit', began) };
      }
      await stage();
      return { base: inPlaceBase('tree', (await git.run(aside, ['write-tree'])).trim()) };
    },
    beganClean: () => commits,
    async resume(base) {
      if (!isInPlaceBase(base)) throw startedElsewhere('the repository of its context (branch fleet/…)');
      await git.run(place, ['rev-parse', '-q', '--verify', base]);
      commits = isCommitBase(base);
      began = commits ? base.replace('^{commit}', '') : undefined;
      const since = await lockedSince(gitDir);
      // The lock is a leftover of the crash that interrupted the task.
      if (since !== undefined && since < options.startedAt)
        await git.script(place, 'rm -f "$1"', [join(gitDir, 'index.lock')]);
    },
    save: tidy,
    async commit(message) {
      await tidy();
      const left = await commitAll(message);
      const end = await head();
      const isCommitted = began !== undefined && end.name !== '' && ![began, ''].includes(end.commit);
      const ids = { base: began ?? null, commit: isCommitted ? end.commit : null };
      const repository = options.name;
      return { left, delivery: { repository, branch: end.name || branch, ...ids, state: 'kept' } };
    },
    // The tree belongs to the interrupted task until it continues: a dirty tree blocks other write tasks.
    leave: async () => {},
    async changedSince(base) {
      await stage();
      return pathsOf(await git.run(aside, ['diff', '--cached', ...NAMES, base, ...LEFT_OUT]));
    },
    async diffSince(base, maxChars) {
      await stage();
      const diff = await git.run(aside, ['diff', '--cached', ...READABLE, base, ...LEFT_OUT]);
      return shortened(diff, maxChars);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

const uncommitted = (reason: string): Uncommitted => ({
  todo: `commit what changed: the working tree ${reason}`,
  certain: false,
});

/** The copy keeps its modification time, by which git detects files that changed right after the index was written. */
const COPY = 'rm -f "$2" "$2.lock"; test ! -e "$1" || cp -p "$1" "$2"';
/** Prints the branch and the commit, each on a line. */
const HEAD = 'git symbolic-ref -q --short HEAD || echo; git rev-parse -q --verify "HEAD^{commit}"';
/** Removes the commands' home directory when it is empty. */
const TIDY = 'cd "$1" && rmdir .scratch/home .scratch 2>/dev/null; true';

/** Base of a task in place: a commit when its work will be committed, else a tree of the files' contents. */
const inPlaceBase = (kind: 'commit' | 'tree', id: string): string => `${id}^{${kind}}`;

/** True for a base in a checkpoint of a task in place; a task in a context's repository has a bare id. */
export const isInPlaceBase = (base: string): boolean => /\^\{(?:commit|tree)\}$/.test(base);

/** True for the base of a task in place whose work is committed at its end. */
export const isCommitBase = (base: string): boolean => base.endsWith('^{commit}');

/** An interrupted task must not continue in a tree that lacks its work or holds another task's. */
export const startedElsewhere = (where: string): FleetError =>
  new FleetError(
    'CONFIG_INVALID',
    `workspace.isolation was changed while the task was interrupted: its work is in ${where}; look there, then dispatch what is missing under a new task_id`,
    { retryable: false },
  );

/** A repository whose own working tree tasks work in. */
export type Repository = Awaited<ReturnType<typeof openRepository>>;

/**
 * Opens the repository for work in place: the one at `path`, which must have a commit, else `<root>/repo`, which is created
 * with an initial commit when absent. Commands must be able to write to it.
 */
export async function openRepository(options: {
  readonly root: string;
  readonly path: string | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
}) {
  const { path, git, confinement } = options;
  const dir = path === undefined ? join(options.root, 'repo') : await usersRepository(path);
  if (path === undefined) await makeSharedDirectory(dir, confinement.otherUser);
  const wrap: GitPlace['wrap'] = (command, args) =>
    confinement.wrap(command, args, { writable: [dir], readOnly: [] });
  const gitDir = join(dir, '.git');
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap, ...ignoringBuilds(gitDir) };
  if (path === undefined && !(await readdir(dir)).includes('.git'))
    await git.run({ ...place, gitDir: undefined, workTree: undefined }, ['init', '-q', '-b', 'main']);
  if (!(await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD']))) {
    if (path !== undefined)
      throw unusable(path, 'it is not the top of a git repository with a commit that commands can read');
    await git.run(place, ['commit', '-q', '--allow-empty', '--no-verify', '-m', 'Start the workspace']);
  }
  for (const [what, test] of WRITABLE)
    if ((await git.script(place, test, [dir, gitDir])).exitCode !== 0)
      throw unusable(dir, `commands cannot write to its ${what} (uid 1001 where the gateway changes users)`);
  await findBuilds(git, place, gitDir);
  return { dir, gitDir, place };
}

/** The hooks folder must exist, because commands get it mounted read-only. */
const WRITABLE = [
  ['.git directory', 'test -w "$2/objects" && test -w "$2/refs" && mkdir -p "$2/hooks"'],
  ['working tree', 'test -w "$1" && test -w "$2"'],
] as const;
