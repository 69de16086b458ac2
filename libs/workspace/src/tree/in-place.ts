import { join } from 'node:path';
import { type Clock, FleetError, type Log } from '@hermes-fleet/protocol';
import type { Confinement, Reach } from '../confinement/confinement.ts';
import { addAll } from './add-all.ts';
import type { Git, GitPlace } from './git.ts';
import { inPlaceBase, isCommitBase, isInPlaceBase, startedElsewhere } from './in-place-base.ts';
import type { Repository } from './repository.ts';
import { lockedSince, obstacle, type TreeState, treeState } from './tree-state.ts';
import {
  LEFT_OUT,
  NAMES,
  pathsOf,
  READABLE,
  shortened,
  type Uncommitted,
  type Workspace,
} from './workspace.ts';

export interface InPlaceOptions {
  readonly repository: Repository;
  readonly git: Git;
  readonly confinement: Confinement;
  /** Nothing of this process was in the tree before. Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The run's turn to work in the tree. */
  readonly turn: Disposable;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long a commit waits for somebody else's git command, e.g. an editor's. */
const LOCK_MS = 5000;
const LOCK_STEP_MS = 100;
/** Whatever the repository's settings say: what is untracked would be committed. */
const ALL_FILES = ['--untracked-files=normal'];

/** The state of a tree that tasks work in. */
export const inPlaceState = (git: Git, place: GitPlace): Promise<TreeState> =>
  treeState(git, place, ALL_FILES);

/**
 * The base working tree itself, on the branch that is checked out (design 2, Write tasks). A task that found it clean
 * is committed at its end. One that did not is never: all it leaves is what it did to the files; the user's index and
 * commits stay as they were. Its base tells a resume which of the two it is.
 */
export async function inPlace(o: InPlaceOptions): Promise<Workspace> {
  const { git, log } = o;
  const { dir, gitDir } = o.repository;
  const reach: Reach = {
    writable: [dir, gitDir],
    readOnly: [join(gitDir, 'config'), join(gitDir, 'hooks')],
  };
  const wrap: Workspace['wrap'] = (command, args) => o.confinement.wrap(command, args, reach);
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap };
  const aside: GitPlace = { ...place, indexFile: join(gitDir, 'fleet-index') };
  const index = [join(gitDir, 'index'), join(gitDir, 'fleet-index')];
  const { branch } = await inPlaceState(git, place);
  let commits = false;

  /** Brings the files as they are into an index of our own, which knows from the tree's what need not be read again. */
  async function stage(): Promise<void> {
    if ((await git.script(place, COPY, index)) !== 0)
      throw new FleetError('INTERNAL', 'the index of the working tree cannot be copied');
    await addAll(git, aside);
  }

  /** Waits while another git command works in the tree, for a while. */
  async function unlocked(): Promise<void> {
    const until = o.clock.now() + LOCK_MS;
    while ((await lockedSince(gitDir)) !== undefined && o.clock.now() < until)
      await o.clock.sleep(LOCK_STEP_MS);
  }

  return {
    dir,
    branch,
    wrap,
    async begin(write) {
      await unlocked();
      const { clean } = await inPlaceState(git, place);
      const reason = clean ? await obstacle(git, place, gitDir) : `is dirty (branch ${branch})`;
      if (reason !== undefined && write) {
        const detail = `the working tree ${reason}; this is a write task`;
        return { refused: { kind: 'repo', name: branch, detail, transient: true } };
      }
      commits = reason === undefined;
      if (commits) {
        const head = await git.run(place, ['rev-parse', '--verify', 'HEAD']);
        return { base: inPlaceBase('commit', head.trim()) };
      }
      await stage();
      return { base: inPlaceBase('tree', (await git.run(aside, ['write-tree'])).trim()) };
    },
    async resume(base) {
      if (!isInPlaceBase(base)) throw startedElsewhere('the worktree of its context (branch fleet/…)');
      await git.run(place, ['rev-parse', '-q', '--verify', base]);
      commits = isCommitBase(base);
      const since = await lockedSince(gitDir);
      // What the crash that interrupted the task left behind.
      if (since !== undefined && since < o.startedAt)
        await git.script(place, 'rm -f "$1"', [join(gitDir, 'index.lock')]);
    },
    async commit(message) {
      await git.script(place, TIDY, [dir]);
      if (!commits) return uncommitted('was not fit for it when the task began');
      await unlocked();
      const reason = await obstacle(git, place, gitDir);
      if (reason !== undefined) {
        log.warn({ reason }, 'the work of a task stays in the working tree, uncommitted');
        return uncommitted(reason);
      }
      const { branch: now, clean } = await inPlaceState(git, place);
      if (now !== branch)
        log.warn(
          { from: branch, to: now },
          'the branch was switched during a task; its work goes to the new one',
        );
      if (clean) return undefined;
      const left = await addAll(git, place);
      if ((await git.ask(place, ['diff', '--cached', '--quiet', '--no-ext-diff'])) === 0) return left;
      await git.run(place, ['commit', '-q', '--no-verify', '-m', message]);
      return left;
    },
    // The tree is the interrupted task's until it goes on: a dirty tree keeps other write tasks off.
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
    [Symbol.dispose]: () => o.turn[Symbol.dispose](),
  };
}

const uncommitted = (reason: string): Uncommitted => ({
  todo: `commit what changed: the working tree ${reason}`,
  certain: false,
});

/** The copy keeps its time: git tells by it which files may have changed right after the index was written. */
const COPY = 'rm -f "$2" "$2.lock"; test ! -e "$1" || cp -p "$1" "$2"';
/** The commands' home, where they left nothing in it. */
const TIDY = 'cd "$1" && rmdir .scratch/home .scratch 2>/dev/null; true';
