import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '../confinement/confinement.ts';
import type { Uncommitted } from '../git/add-all.ts';
import { failureOf, type Git, type GitPlace, linesOf } from '../git/git.ts';
import { isThere } from '../process/system-error.ts';
import type { Base } from '../stores/base.ts';
import { RefusedPack } from '../stores/quarantine.ts';
import { branchOf } from '../stores/result-refs.ts';
import type { Results } from '../stores/results.ts';
import { READY } from './context-folder.ts';
import { type ContextPlace, openContextPlace } from './context-place.ts';
import { isInPlaceBase, startedElsewhere } from './in-place.ts';
import { leftBehind, notFollowed, notSigned, tooLarge } from './left-work.ts';
import { mendMove, moveOn } from './move-on.ts';
import { forgetRefusal, readRefusal, recordRefused, toldOf } from './refusal.ts';
import { type SavedPack, type SavedWork, savePack } from './save-pack.ts';
import type { SavedTrees } from './saved-trees.ts';
import { RESUME } from './scripts.ts';
import { type Standing, standing } from './standing.ts';
import { buildRepository, takeCommit } from './tree-repository.ts';
import type { Workspace } from './workspace.ts';

export interface ContextTreeOptions {
  readonly name: string;
  /** The name of the repository, for results; null for one of the profile's own. */
  readonly repository: string | null;
  /** The folder of the context. It belongs to the gateway; commands can write to the folders in it. */
  readonly dir: string;
  readonly base: Base;
  readonly results: Results;
  readonly saved: SavedTrees;
  /** Brings the commit that a new context starts from. */
  start(): Promise<string>;
  /** A commit of the base that the tree is to have before a task begins; undefined: as it is. */
  readonly onto?: string | undefined;
  /** Prepares a new tree of the commit for work. */
  prepare(place: ContextPlace, commit: string): Promise<void>;
  readonly git: Git;
  readonly confinement: Confinement;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Opens a context's working tree, which is made when absent. Its repository borrows the objects of the base and knows no
 * other context. Git runs there as the task; the gateway takes the work over as a pack, which it checks.
 */
export async function openContextTree(options: ContextTreeOptions): Promise<Workspace> {
  const [place, origin] = await Promise.allSettled([
    openContextPlace(options.dir, options.confinement, options.base, options),
    standing(options),
  ]);
  if (place.status === 'rejected') throw place.reason;
  try {
    if (origin.status === 'rejected') throw origin.reason;
    return await openIn(place.value, origin.value, options);
  } catch (error) {
    await place.value[Symbol.asyncDispose]();
    throw error;
  }
}

async function openIn(
  opened: ContextPlace,
  { begun, ...origin }: Standing,
  options: ContextTreeOptions,
): Promise<Workspace> {
  const { name, git, base, results, log } = options;
  const { dir, tmp, home } = opened;
  const place: GitPlace = { cwd: dir, gitDir: join(dir, '.git'), workTree: dir, wrap: opened.wrap };
  const branch = branchOf(name);
  const ready = join(options.dir, READY);
  const repository = { git, place, base, results };
  let { from, tip } = origin;
  /** The commit of the tree that has the files of `tip`; undefined when it is to be sent in any case. */
  let known: string | undefined = tip;
  /** The result that the task began from, undefined before it began. */
  let began: string | undefined;

  /** A base that was broken, and could not be saved, takes the history of its contexts with it. Their files stay. */
  async function startAnew(): Promise<void> {
    const lost = { context: name, commit: tip };
    log.error(lost, 'the commit that a context started from is gone: it starts anew, with its files');
    from = await options.start();
    tip = from;
    if (began !== undefined) began = tip;
    await writeFile(ready, from);
  }

  /** Makes the repository anew. Returns the files that are left out of it, because they are too large for a result. */
  async function setUp(files: 'checkout' | 'keep'): Promise<string[]> {
    if (begun && !(await base.has(from))) await startAnew();
    const made = await buildRepository(repository, { branch, from, tip, files });
    if (made.exitCode === 0) {
      known = tip;
      return linesOf(made.stdout);
    }
    log.error({ context: name, ...failureOf(made) }, 'a context cannot be set up');
    throw new FleetError(
      'INTERNAL',
      `the tree of context ${name} cannot be set up; the log has git's output`,
    );
  }

  /** Runs `use` on the pack of what the tree has and the gateway has not, if any. Throws RefusedPack. */
  async function send<T>(
    mode: 'commit' | 'end' | 'snapshot',
    message: string,
    use: (saved: SavedPack) => Promise<T>,
  ): Promise<T> {
    await using pack = results.passing();
    const had = { commit: known ?? '', base: from, objects: base.objects };
    return await use(await savePack(options, { place, tmp, file: pack.file }, mode, message, had));
  }

  /** Checks the work of the tree, and says what of it no result will have. */
  const check = (mode: 'commit' | 'end', message: string): Promise<SavedWork> =>
    send(mode, message, async ({ commit, pack, mayEmbed, left }) => {
      const checked = pack && (await results.check(pack));
      const unlisted = mayEmbed ? await results.embedded(from, tip) : [];
      const embedded = checked ? await checked.embedded(from) : unlisted;
      const apart = notFollowed(embedded, await checked?.lfsFiles(from));
      return { commit, checked, left: left === undefined ? apart : [left, ...apart] };
    });

  /** Makes checked work the result, and the commit of the result that of the tree. */
  async function keep({ checked, commit }: SavedWork, message: string): Promise<Uncommitted[]> {
    if (checked === undefined) return [];
    await using _checked = checked;
    const made = await checked.keep(name, { parent: began ?? tip, message });
    const { id, unsigned } = made;
    tip = id;
    if (began !== undefined) began = made.parent;
    const taken = await takeCommit(repository, made, from);
    known = taken.exitCode === 0 ? id : commit;
    // Then the tree keeps its own history, of which the next task's result has the files.
    if (taken.exitCode !== 0)
      log.warn({ context: name, ...failureOf(taken) }, 'a context cannot take the commit of its result');
    return unsigned === undefined ? [] : [notSigned(id, unsigned)];
  }

  /** Makes the repository anew when a task broke it, with the files that it left, and tries again. */
  async function repaired<T>(
    action: () => Promise<T>,
  ): Promise<{ readonly value: T; readonly large: string[] }> {
    try {
      return { value: await action(), large: [] };
    } catch (error) {
      if (!(error instanceof RefusedPack)) throw error;
      log.warn({ context: name, reason: error.message }, 'the repository of a context is made anew');
    }
    const large = await setUp('keep');
    return { value: await action(), large };
  }

  /** The refusal of an earlier task's result, whose files are still in the tree, and whether they were taken since. */
  let earlier = await readRefusal(options.dir);
  let isTaken = false;

  /** Resolves with the checked work, and what is left to do. */
  async function save(mode: 'commit' | 'end', message: string): Promise<SavedWork & { taken: boolean }> {
    try {
      const { value, large } = await repaired(() => check(mode, message));
      isTaken = true;
      const left = [...value.left, ...(large.length === 0 ? [] : [tooLarge(large)])];
      return { ...value, left, taken: true };
    } catch (error) {
      if (!(error instanceof RefusedPack)) throw error;
      const { message: reason } = error;
      log.error({ context: name, reason }, 'the work of a context cannot be taken over');
      await recordRefused(options, place, { reason, since: known ?? tip });
      const todo = `commit the changes of context ${name}: ${reason}`;
      return { commit: tip, checked: undefined, left: [{ todo, certain: true }], taken: false };
    }
  }

  async function saveAndKeep(mode: 'commit' | 'end', message: string) {
    const { left, taken, ...work } = await save(mode, message);
    return { left: [...left, ...(await keep({ ...work, left }, message))], taken };
  }

  const isNew = !begun || !(await isThere(dir));
  const savedBefore = options.saved.takeCommit(name);
  /** The commit of this run that has all files of the tree, while no command has run since. */
  let saved: string | undefined;
  /** The work that was saved last, which the result does not have yet. */
  let ended: Awaited<ReturnType<typeof save>> | undefined;
  const forgetEnded = async (): Promise<void> => {
    await ended?.checked?.[Symbol.asyncDispose]();
    ended = undefined;
  };
  let clean = false;
  /** Work that the task found in the tree, which is on the branch before its own. */
  const behind: Uncommitted[] = [];
  if (isNew) {
    // A power cut may have emptied the file, which is written when the files are complete.
    const complete = !begun && (await isThere(ready)) && (await isThere(dir));
    if (!complete) await rm(ready, { force: true });
    await opened.make();
    await setUp(complete ? 'keep' : 'checkout');
    if (!complete) await options.prepare(opened, from);
    clean = !complete;
    await writeFile(ready, from);
  }
  const started = base.files(options.onto ?? from);
  return {
    dir,
    branch,
    files: opened.files,
    env: { HOME: home, TMPDIR: tmp },
    started,
    notFollowed: started.notFollowed,
    wrap(command, args, proxy) {
      saved = undefined;
      return opened.wrap(command, args, proxy);
    },
    async begin() {
      await mendMove(repository, { context: options.dir, tip });
      if (!isNew && savedBefore === tip) clean = true;
      else if (!isNew) {
        const before = tip;
        const { left, taken } = await saveAndKeep('end', 'What an earlier task left behind');
        clean = left.length === 0;
        const paths = await results.changed(before, tip);
        // The record of a refusal names refused work.
        if (paths.length > 0 && earlier === undefined) behind.push(leftBehind(paths));
        if (!taken) earlier ??= await readRefusal(options.dir);
      }
      const { onto } = options;
      if (onto !== undefined && onto !== from) {
        const moved = await moveOn(repository, { name, context: options.dir, tip, from, onto });
        if ('refused' in moved) return moved;
        if (moved.tip !== tip) known = moved.tip;
        tip = moved.tip;
        if (moved.from !== from) await writeFile(ready, moved.from);
        from = moved.from;
      }
      began = tip;
      return { base: tip };
    },
    beganClean: () => clean,
    async resume(commit) {
      if (isInPlaceBase(commit)) throw startedElsewhere('the working tree of the repository');
      began = commit;
      known = undefined;
      await git.script(place, RESUME, [base.objects]);
    },
    async save() {
      await forgetEnded();
      ended = await save('end', UNDESCRIBED);
    },
    async commit(message, { isTold = true } = {}) {
      const { left, taken, ...work } = ended ?? (await save('end', UNDESCRIBED));
      ended = undefined;
      const todo = [...left, ...(await keep({ ...work, left }, message))];
      if (taken && isTold) await forgetRefusal(options.dir);
      const all = earlier === undefined ? todo : [...todo, toldOf(earlier, isTaken)];
      if (all.length === 0) saved = tip;
      all.push(...behind.splice(0));
      if (began === undefined || tip === began) return { left: all };
      return {
        left: all,
        delivery: { repository: options.repository, branch, commit: tip, base: began, state: 'kept' },
      };
    },
    leave: (message) => saveAndKeep('commit', message),
    changedSince: async (commit) => (await ended?.checked?.changed(commit)) ?? results.changed(commit, tip),
    async diffSince(base, maxChars) {
      const show = async ({ pack }: SavedPack): Promise<string> => {
        if (pack === undefined) return '';
        await using checked = await results.check(pack);
        return await checked.diff(base, maxChars);
      };
      return (await repaired(() => send('snapshot', 'What a review sees', show))).value;
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await forgetEnded();
        await opened[Symbol.asyncDispose]();
        if (saved !== undefined) options.saved.put(name, saved);
      } catch (err) {
        // The result stands. The next run of the context tries again, and does not begin before nothing is left.
        log.error({ context: name, err }, 'what a task left behind could not be ended');
      }
    },
  };
}

/** The message of the commit of a task in its tree, which no result has. */
const UNDESCRIBED = 'Work of a task';
