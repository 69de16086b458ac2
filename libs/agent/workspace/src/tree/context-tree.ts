import { open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Confinement } from '../confinement/confinement.ts';
import { named, notAdded, type Uncommitted } from '../git/add-all.ts';
import { LEFT_OUT, NAMES, pathsOf } from '../git/diff.ts';
import { failureOf, type Git, type GitPlace, linesOf } from '../git/git.ts';
import { isThere } from '../process/system-error.ts';
import type { Base } from '../stores/base.ts';
import { receivePack } from '../stores/pack-file.ts';
import { MAX_FILE_BYTES, MAX_PACK_BYTES, RefusedPack, type TasksPack } from '../stores/quarantine.ts';
import { branchOf } from '../stores/result-refs.ts';
import type { Results } from '../stores/results.ts';
import { OBJECT_ID } from '../stores/store.ts';
import { READY, readBase } from './context-folder.ts';
import { type ContextPlace, openContextPlace } from './context-place.ts';
import { isInPlaceBase, startedElsewhere } from './in-place.ts';
import { forgetRefusal, readRefusal, recordRefusal, toldOf } from './refusal.ts';
import type { SavedTrees } from './saved-trees.ts';
import { LEAVE_OUT, RESUME, SAVE, SET_UP } from './scripts.ts';
import type { Workspace } from './workspace.ts';

export interface ContextTreeOptions {
  readonly name: string;
  /** The folder of the context. It belongs to the gateway; commands can write to the folders in it. */
  readonly dir: string;
  readonly base: Base;
  readonly results: Results;
  readonly saved: SavedTrees;
  /** Prepares a new tree of the commit for work. */
  readonly prepare?: ((place: ContextPlace, commit: string) => Promise<void>) | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
  readonly clock: Clock;
  readonly log: Log;
}

const SET_UP_MS = 10 * 60_000;
const SAVE_MS = 10 * 60_000;

/**
 * Opens a context's working tree, which is made when absent. Its repository borrows the objects of the base and knows no
 * other context. Git runs there as the task; the gateway takes the work over as a pack, which it checks.
 */
export async function openContextTree(options: ContextTreeOptions): Promise<Workspace> {
  const [place, origin] = await Promise.allSettled([
    openContextPlace(options.dir, options.confinement, options.base, options),
    originOf(options),
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

interface Origin {
  /** False when the tree has to be set up. */
  readonly begun: boolean;
  /** The commit of the base that the context started from. */
  readonly from: string;
  /** The last commit that the gateway has taken over. */
  readonly tip: string;
}

async function originOf({ dir, name, base, results }: ContextTreeOptions): Promise<Origin> {
  const [begun, refs] = await Promise.all([readBase(dir), results.refs(name)]);
  const from = begun ?? refs.base ?? (await base.start());
  return { begun: begun !== undefined, from, tip: refs.tip ?? from };
}

async function openIn(
  opened: ContextPlace,
  { begun, ...origin }: Origin,
  options: ContextTreeOptions,
): Promise<Workspace> {
  const { name, git, base, results, log } = options;
  const { dir, tmp, home } = opened;
  const place: GitPlace = { cwd: dir, gitDir: join(dir, '.git'), workTree: dir, wrap: opened.wrap };
  const branch = branchOf(name);
  const ready = join(options.dir, READY);
  let { from, tip } = origin;

  /** A base that was broken, and could not be saved, takes the history of its contexts with it. Their files stay. */
  async function startAnew(): Promise<void> {
    const lost = { context: name, commit: tip };
    log.error(lost, 'the commit that a context started from is gone: it starts anew, with its files');
    from = await base.start();
    tip = from;
    await writeFile(ready, from);
  }

  /** Makes the repository anew. Returns the files that are left out of it, because they are too large for a result. */
  async function setUp(files: 'checkout' | 'keep'): Promise<string[]> {
    if (begun && !(await base.has(from))) await startAnew();
    await using pack = results.passing();
    const hasPack = tip !== from;
    if (hasPack) await results.give(pack.file, tip, from);
    await using stdin = hasPack ? await open(pack.file, 'r') : undefined;
    const args = [base.objects, branch, tip, files, String(MAX_FILE_BYTES), hasPack ? 'pack' : '', LEAVE_OUT];
    const call = { timeoutMs: SET_UP_MS, stdin: stdin?.fd };
    const made = await git.script(place, SET_UP, [...args, ...(await base.shallow())], call);
    if (made.exitCode === 0) return linesOf(made.stdout);
    log.error({ context: name, ...failureOf(made) }, 'a context cannot be set up');
    throw new FleetError(
      'INTERNAL',
      `the tree of context ${name} cannot be set up; the log has git's output`,
    );
  }

  /** Runs SAVE, and `use` on the pack that it wrote, if any. Throws RefusedPack. */
  async function send<T>(
    mode: 'commit' | 'end' | 'snapshot',
    message: string,
    use: (pack: TasksPack | undefined, mayEmbed: boolean) => Promise<T>,
  ): Promise<{ readonly used: T; readonly left: Uncommitted | undefined }> {
    await using pack = results.passing();
    const { file } = pack;
    const script = {
      text: SAVE,
      args: [mode, message, tip, from, base.objects, tmp, String(MAX_FILE_BYTES), ...LEFT_OUT],
    };
    const limits = { file, maxBytes: MAX_PACK_BYTES, timeoutMs: SAVE_MS };
    const { result, header = '' } = await receivePack(git, place, script, limits);
    const [added, commit = '', embeds] = header.split(' ');
    if (result.killed === 'output') throw new RefusedPack(`it is larger than ${MAX_PACK_BYTES} bytes`);
    if (result.limit !== undefined) throw new RefusedPack(result.limit);
    if (result.exitCode !== 0 || !OBJECT_ID.test(commit)) {
      log.warn({ context: name, ...failureOf(result) }, 'git failed in a context');
      throw new RefusedPack('git does not work in the repository of the context');
    }
    const used = await use(commit === tip ? undefined : { file, commit, base: from }, embeds === '1');
    return { used, left: added === '1' ? await notAdded(git, place) : undefined };
  }

  async function takeOver(mode: 'commit' | 'end', message: string): Promise<Uncommitted[]> {
    const { used: embedded, left } = await send(mode, message, async (pack, mayEmbed) => {
      if (pack !== undefined) {
        await results.takeOver(name, pack);
        tip = pack.commit;
      }
      return pack !== undefined || mayEmbed ? results.embedded(from, tip) : [];
    });
    return [
      ...(left === undefined ? [] : [left]),
      ...(embedded.length === 0 ? [] : [withoutFiles(embedded)]),
    ];
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

  /** Where this fails, as on a full disk, later tasks are not told of the refusal. */
  async function recordRefused(reason: string): Promise<void> {
    try {
      await recordRefusal(options.dir, { reason, paths: await pathsSince(git, place, tip) });
    } catch (err) {
      log.error({ context: name, err }, 'the refusal of a result cannot be recorded');
    }
  }

  /** Returns what is left to do, and whether the work was taken over. */
  async function save(
    mode: 'commit' | 'end',
    message: string,
  ): Promise<{ left: Uncommitted[]; taken: boolean }> {
    try {
      const { value, large } = await repaired(() => takeOver(mode, message));
      isTaken = true;
      return { left: [...value, ...(large.length === 0 ? [] : [tooLarge(large)])], taken: true };
    } catch (error) {
      if (!(error instanceof RefusedPack)) throw error;
      const { message: reason } = error;
      log.error({ context: name, reason }, 'the work of a context cannot be taken over');
      await recordRefused(reason);
      const todo = `commit the changes of context ${name}: ${reason}`;
      return { left: [{ todo, certain: true }], taken: false };
    }
  }

  const isNew = !begun || !(await isThere(dir));
  const savedBefore = options.saved.takeCommit(name);
  /** The commit of this run that has all files of the tree, while no command has run since. */
  let saved: string | undefined;
  let clean = false;
  if (isNew) {
    // A power cut may have emptied the file, which is written when the files are complete.
    const complete = !begun && (await isThere(ready)) && (await isThere(dir));
    if (!complete) await rm(ready, { force: true });
    await opened.make();
    await setUp(complete ? 'keep' : 'checkout');
    if (!complete) await options.prepare?.(opened, from);
    clean = !complete;
    await writeFile(ready, from);
  }
  return {
    dir,
    branch,
    files: opened.files,
    env: { HOME: home, TMPDIR: tmp },
    started: base.files(from),
    wrap(command, args, proxy) {
      saved = undefined;
      return opened.wrap(command, args, proxy);
    },
    async begin() {
      if (!isNew && savedBefore === tip) clean = true;
      else if (!isNew) {
        const { left, taken } = await save('end', 'What an earlier task left behind');
        clean = left.length === 0;
        if (!taken) earlier ??= await readRefusal(options.dir);
      }
      return { base: tip };
    },
    beganClean: () => clean,
    async resume(began) {
      if (isInPlaceBase(began)) throw startedElsewhere('the working tree of the repository');
      await git.script(place, RESUME, [base.objects]);
    },
    async commit(message, { isTold = true } = {}) {
      const { left, taken } = await save('end', message);
      if (taken && isTold) await forgetRefusal(options.dir);
      const all = earlier === undefined ? left : [...left, toldOf(earlier, isTaken)];
      if (all.length === 0) saved = tip;
      return all;
    },
    leave: (message) => save('commit', message),
    changedSince: (began) => results.changed(began, tip),
    async diffSince(began, maxChars) {
      const show = async (pack: TasksPack | undefined): Promise<string> =>
        pack === undefined ? '' : await results.diff(began, pack, maxChars);
      return (await repaired(() => send('snapshot', 'What a review sees', show))).value.used;
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await opened[Symbol.asyncDispose]();
        if (saved !== undefined) options.saved.put(name, saved);
      } catch (err) {
        // The result stands. The next run of the context tries again, and does not begin before nothing is left.
        log.error({ context: name, err }, 'what a task left behind could not be ended');
      }
    },
  };
}

/** Files that are too large for a result. */
const tooLarge = (paths: readonly string[]): Uncommitted => ({
  todo: `commit ${named(paths)}: larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  certain: true,
});

/** Repositories inside the tree. */
const withoutFiles = (paths: readonly string[]): Uncommitted => ({
  todo: `keep the files of ${named(paths)}: a git repository of its own, of which the result has the id of a commit only; push it, or remove its .git and commit its files`,
  certain: true,
});

/** The paths that the task's own git shows as changed since a commit; none when it does not work. */
async function pathsSince(git: Git, place: GitPlace, commit: string): Promise<string[]> {
  const { exitCode, stdout } = await git.exec(place, ['diff', ...NAMES, commit, ...LEFT_OUT]);
  return exitCode === 0 ? pathsOf(stdout) : [];
}
