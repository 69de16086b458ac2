import { appendFile, mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import type { Confinement, Reach } from '../confinement/confinement.ts';
import { isThere } from '../files/is-there.ts';
import { addAll } from '../git/add-all.ts';
import type { Git, GitPlace } from '../git/git.ts';
import { hasCode } from '../process/system-error.ts';
import type { Base, Source } from '../stores/base.ts';
import { receivePack } from '../stores/pack-file.ts';
import { MAX_PACK_BYTES, RefusedPack } from '../stores/quarantine.ts';
import { branchOf } from '../stores/result-refs.ts';
import type { Results } from '../stores/results.ts';

export interface TakeOverOptions {
  readonly contexts: string;
  /** The repository whose worktrees the contexts were, undefined when it is gone. */
  readonly source: Source | undefined;
  readonly base: Base;
  readonly results: Results;
  readonly git: Git;
  readonly confinement: Confinement;
  readonly log: Log;
}

/** In a context's folder: its tree holds files of an older version, which the new repository keeps. */
export const KEPT = 'kept';
/** In a context's folder: the files for its tree, see `move`. */
export const ARCHIVE = 'files.tar';
/** Lists the repositories whose branches were copied. */
const COPIED = '.copied';
/** Prefix of a context's new folder while it is made. */
const MOVED = '.moved-';

/**
 * Takes over the contexts of 0.1.0, which were worktrees of one repository: commits the work that tasks left there, copies
 * the branches `fleet/*` to the results, and moves the files of each context to its new tree. The old repository stays as
 * it is. An interrupted start goes on with the next one.
 */
export async function takeOver(options: TakeOverOptions): Promise<void> {
  const { contexts, source, log } = options;
  const old = await oldContexts(contexts);
  if (source !== undefined) {
    for (const name of old) await commitLeftovers(name, source, options);
    await copyBranches(source, old, options);
  }
  for (const name of old) await move(name, options);
  if (old.length > 0) log.info({ contexts: old }, 'the contexts of an older version were taken over');
}

/** The names of contexts that are worktrees, or are being moved. */
async function oldContexts(contexts: string): Promise<string[]> {
  const old = new Set<string>();
  for (const name of await readdir(contexts)) {
    if (name.startsWith(MOVED)) old.add(name.slice(MOVED.length));
    else if (!name.startsWith('.') && (await isThere(join(contexts, name, '.git')))) old.add(name);
  }
  return [...old];
}

/**
 * Moves the files of a worktree to the tree of its context. Where each context has a user, they go into an archive, which
 * the first run unpacks as that user. What a crash interrupted is completed.
 */
async function move(name: string, options: TakeOverOptions): Promise<void> {
  const [dir, moved] = [join(options.contexts, name), join(options.contexts, MOVED + name)];
  await mkdir(moved, { recursive: true });
  await writeFile(join(moved, KEPT), '');
  if (options.confinement.users !== undefined) {
    await archive(dir, join(moved, ARCHIVE), options);
  } else if (!(await isThere(join(moved, 'tree')))) await rename(dir, join(moved, 'tree'));
  await rename(moved, dir);
}

/** Moves the files of a worktree into an archive, as the user that they belong to. */
async function archive(dir: string, file: string, { git, confinement }: TakeOverOptions): Promise<void> {
  const wrap: GitPlace['wrap'] = (command, args) =>
    confinement.wrap(command, args, { writable: [dir], readOnly: [] });
  const place: GitPlace = { cwd: dir, gitDir: undefined, workTree: undefined, wrap };
  if (!(await isThere(file))) {
    const part = `${file}.part`;
    await rm(part, { force: true });
    const limits = { file: part, maxBytes: Number.MAX_SAFE_INTEGER, timeoutMs: ARCHIVE_MS };
    const { result } = await receivePack(git, place, { text: ARCHIVE_FILES, args: [] }, limits);
    if (result.exitCode !== 0)
      throw new FleetError(
        'INTERNAL',
        `the files of ${dir} cannot be archived: ${result.stderr.slice(0, 300)}`,
      );
    await using written = await open(part, 'r');
    await written.sync();
    await rename(part, file);
  }
  if (!(await isThere(dir))) return;
  await git.script(place, 'find . -mindepth 1 -delete', []);
  await rm(dir, { recursive: true });
}

const ARCHIVE_MS = 30 * 60_000;
/** Leaves out the folder itself, which belongs to the gateway in a tree. */
const ARCHIVE_FILES = `echo; chmod -R u+rX . 2>/dev/null; find . -mindepth 1 -maxdepth 1 ! -name .git -print0 | tar --null -T - -cf -`;

/** Commits, as the task, what is not committed in a worktree. What git cannot commit stays in the files. */
async function commitLeftovers(name: string, source: Source, options: TakeOverOptions): Promise<void> {
  const { git, confinement, log } = options;
  const dir = join(options.contexts, name);
  const gitDir = await worktreeGitDir(dir, source);
  if (gitDir === undefined) return;
  const reach: Reach = { writable: [dir, source.place.gitDir], readOnly: [] };
  const wrap: GitPlace['wrap'] = (command, args) => confinement.wrap(command, args, reach);
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap };
  try {
    await git.script(place, 'rm -f "$1/index.lock"; chmod g+rwx .', [gitDir]);
    await addAll(git, place);
    if ((await git.ask(place, ['diff', '--cached', '--quiet', '--no-ext-diff'])) === 1)
      await git.run(place, ['commit', '-q', '--no-verify', '-m', 'What an earlier task left behind']);
  } catch (error) {
    log.warn(
      { context: name, err: error },
      'the work in an old worktree cannot be committed; its files are kept',
    );
  }
}

/** The worktree's folder in the source, undefined when it belongs to another repository. */
async function worktreeGitDir(dir: string, source: Source): Promise<string | undefined> {
  const text = await readFile(join(dir, '.git'), 'utf8').catch(() => '');
  const found = /^gitdir: (.+)\n?$/.exec(text)?.[1] ?? '';
  const gitDir = join(source.place.gitDir, 'worktrees', basename(found));
  return dirname(found) === dirname(gitDir) && (await isThere(gitDir)) ? gitDir : undefined;
}

/** Copies the branches of the contexts, and at the first time all branches `fleet/*`. */
async function copyBranches(source: Source, old: readonly string[], options: TakeOverOptions): Promise<void> {
  const { git, results, base, log } = options;
  const copied = join(options.contexts, COPIED);
  const before = await readFile(copied, 'utf8').catch((error) => {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  });
  const isDone = before.split('\n').includes(source.dir);
  if (isDone && old.length === 0) return;
  const start = await base.start();
  const branches = ['for-each-ref', '--format=%(objectname) %(refname)', BRANCHES];
  const listed = await git.exec(source.place, 'git', branches);
  if (listed.exitCode !== 0) {
    const told = { repository: source.dir, stderr: listed.stderr.slice(0, 500) };
    log.error(told, 'the branches of an older version cannot be read; they stay in the old repository');
    return;
  }
  for (const line of listed.stdout.split('\n').filter((entry) => entry !== '')) {
    const [commit = '', ref = ''] = line.split(' ');
    const name = ref.slice(`refs/heads/${branchOf('')}`.length);
    if (isDone && !old.includes(name)) continue;
    const file = results.passing();
    try {
      const script = { text: PACK, args: [commit, start] };
      const { result } = await receivePack(git, source.place, script, { file, maxBytes: MAX_PACK_BYTES });
      if (result.exitCode !== 0) throw new RefusedPack(result.stderr.trim().slice(-300));
      await results.take(name, { file, commit, base: start });
    } catch (error) {
      if (!(error instanceof RefusedPack)) throw error;
      const told = { branch: branchOf(name), repository: source.dir, reason: error.message };
      log.error(told, 'a branch of an older version cannot be copied; it stays in the old repository');
    } finally {
      await results.forget(file);
    }
  }
  if (!isDone) await appendFile(copied, `${source.dir}\n`);
}

const BRANCHES = `refs/heads/${branchOf('')}`;
/** A repository that was broken may lack the commit of the base. */
const PACK = `echo; { echo "$1"; git cat-file -e "$2" 2>/dev/null && echo "^$2"; } | git pack-objects --revs --stdout -q`;
