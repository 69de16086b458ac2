import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Confinement } from '../confinement/confinement.ts';
import { type Git, type GitPlace, linesOf } from '../git/git.ts';
import { treeState } from '../git/tree-state.ts';
import { firstLine } from '../process/system-error.ts';
import { baseRef, type Origin } from './origin.ts';
import { indexPack, receivePack } from './pack-file.ts';
import { OBJECT_ID, passing, readShallow, type Store, setShallow } from './store.ts';
import { partialClone, unusable } from './users-repository.ts';
import { refusedRepository } from './workspace-refused.ts';

/** A user's repository, which commands can only read. */
export type Source = ReturnType<typeof openSource>;

/** Opens the user's repository for reading. */
export function openSource(dir: string, confinement: Confinement) {
  const reach = { writable: [], readOnly: [dir] };
  const wrap: GitPlace['wrap'] = (command, args) => confinement.wrap(command, args, reach);
  return { dir, place: { cwd: dir, gitDir: join(dir, '.git'), workTree: dir, wrap } };
}

/** The commit that is checked out in the user's repository, which is copied. Throws CONFIG_INVALID when that is not usable. */
export async function cloneOrigin(git: Git, store: Store, source: Source): Promise<Origin> {
  const mirror = createMirror(git, store, source);
  let newest = await mirror();
  let isRefused = false;
  const copy = async (): Promise<string> => {
    try {
      newest = await mirror();
      isRefused = false;
      return newest;
    } catch (error) {
      isRefused = true;
      throw error;
    }
  };
  return {
    start: async () => ({ commit: await copy().catch(refuse) }),
    heads: async () => [await copy()],
    newest: () => [newest],
    async state() {
      // Then no task is accepted until the clone is mended, or has another commit.
      if (isRefused) await copy();
      const { branch, changed } = await treeState(git, source.place);
      return { branch, clean: true, baseClean: changed.length === 0 };
    },
  };
}

/** Refuses the task when the user's repository has become unusable. */
function refuse(error: unknown): never {
  const [field] = error instanceof FleetError && error.code === 'CONFIG_INVALID' ? error.fields : [];
  if (field === undefined) throw error;
  throw refusedRepository('workspace.path', field.reason, true);
}

/** For the first copy of a large repository. */
const COPY_MS = 30 * 60_000;

/** Returns a function that brings the commit which is checked out in the source into the store. One copy runs at a time. */
function createMirror(git: Git, store: Store, source: Source): () => Promise<string> {
  let running: Promise<unknown> = Promise.resolve();
  const has = (commit: string): Promise<boolean> =>
    git.ask(store.place, ['rev-parse', '-q', '--verify', `${baseRef(commit)}^{commit}`]);

  async function copy(commit: string): Promise<void> {
    const known = await git.run(store.place, ['for-each-ref', '--format=%(objectname)', 'refs/bases']);
    const args = [commit, ...linesOf(known)];
    await using pack = passing(store.dir);
    const { file } = pack;
    const limits = { file, timeoutMs: COPY_MS };
    const { result } = await receivePack(git, source.place, { text: PACK_NEW, args }, limits);
    if (result.exitCode !== 0) {
      const unread = `git cannot read it: ${firstLine(result.stderr, SILENT)}`;
      throw unusable(source.dir, (await partialClone(git, source.place)) ?? unread);
    }
    const taken = await indexPack(git, store.place, file, [], { timeoutMs: COPY_MS });
    if (taken.exitCode !== 0)
      throw unusable(source.dir, `its objects are damaged: ${firstLine(taken.stderr, SILENT)}`);
  }

  async function mirror(): Promise<string> {
    const { exitCode, stdout, stderr } = await git.script(source.place, HEAD, []);
    const [commit = '', ...shallow] = stdout.trimEnd().split('\n');
    if (exitCode !== 0) {
      const reason = 'it is not the top of a git repository with a commit that commands can read';
      throw unusable(source.dir, `${reason}: ${firstLine(stderr, SILENT)}`);
    }
    if (!OBJECT_ID.test(commit)) throw unusable(source.dir, 'its object format is not SHA-1');
    if (!(await has(commit))) {
      await copy(commit);
      // The source may have been deepened since, and the commits where earlier copies end stay without parents.
      await setShallow(store, [...new Set([...(await readShallow(store)), ...shallow])]);
      await git.run(store.place, ['update-ref', baseRef(commit), commit]);
    }
    return commit;
  }

  return () => {
    const next = running.then(mirror);
    running = next.catch(() => {});
    return next;
  };
}

/** Prints the commit and the file `shallow`. */
const HEAD = `git rev-parse --verify 'HEAD^{commit}' || exit
cat "$(git rev-parse --git-path shallow)" 2>/dev/null; true`;

/** Prints an empty line and a pack of the first commit without the history of the others, as far as they are there. */
const PACK_NEW = `echo; { echo "$1"; shift; for id; do git cat-file -e "$id" 2>/dev/null && echo "^$id"; done; } |
git pack-objects --revs --stdout -q`;

const SILENT = 'git says nothing';
