import { randomUUID } from 'node:crypto';
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Log } from '@hermes-fleet/protocol/ports';
import { type Git, type GitPlace, linesOf } from '../git/git.ts';
import { hasCode, unlessAbsent } from '../process/system-error.ts';
import { indexPack, receivePack } from './pack-file.ts';

/** A bare repository that belongs to the gateway. No command can write to it. */
export interface Store {
  readonly dir: string;
  readonly objects: string;
  readonly place: GitPlace;
}

export interface StoreOptions {
  readonly dir: string;
  /** True when commands, which run as other users, read the objects. */
  readonly readable: boolean;
  /** The object folder that the store borrows from, if there is one. */
  readonly borrows?: string;
  readonly git: Git;
  readonly log: Log;
}

/** An object ID of SHA-1, the only object format that stores have. */
export const OBJECT_ID = /^[0-9a-f]{40}$/;

/** For packs on their way in and out. A crash leaves some, which the next start removes. */
const PASSING = 'packs';

/** Opens a bare repository, which is created when absent. A broken one is moved aside, and its complete refs are copied. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { dir, git, log } = options;
  const store: Store = { dir, objects: join(dir, 'objects'), place: ownPlace(dir) };
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await removeLocks(store);
  const isNew = (await readdir(dir)).length === 0;
  if (isNew) await create(options, store);
  // Where this has no place, the store is broken.
  else
    await borrow(options, store).catch((error) => {
      if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR')) throw error;
    });
  if (!isNew && (await isBroken(git, store))) {
    const broken = `${dir}.broken-${randomUUID()}`;
    await rename(dir, broken);
    await mkdir(dir, { mode: 0o700 });
    await create(options, store);
    const found = await salvage(git, broken, store);
    log.error(
      { dir, broken, ...found },
      'a broken repository was moved aside; its complete branches were copied',
    );
  }
  await chmod(dir, options.readable ? 0o755 : 0o700);
  await openPassing(dir);
  return store;
}

/** A power cut in the middle of a git command leaves locks, which would keep every later one from its ref. */
async function removeLocks({ dir }: Store): Promise<void> {
  const refs = await readdir(join(dir, 'refs'), { recursive: true }).catch(unlessAbsent);
  const locks = [
    ...LOCKS,
    ...(refs ?? []).filter((name) => name.endsWith('.lock')).map((name) => join('refs', name)),
  ];
  await Promise.all(locks.map((name) => rm(join(dir, name), { force: true })));
}

const LOCKS = ['HEAD.lock', 'config.lock', 'packed-refs.lock', 'shallow.lock'];

/** True when git does not take the folder for a repository, or the object of a ref is missing. */
export async function isBroken(git: Git, { place }: Store): Promise<boolean> {
  return !(await git.ask(place, ['for-each-ref', '--format=%(objecttype)']));
}

/** The commits whose parents are missing on purpose. */
export async function readShallow({ dir }: Store): Promise<string[]> {
  return linesOf((await readFile(join(dir, 'shallow'), 'utf8').catch(unlessAbsent)) ?? '');
}

export async function setShallow({ dir }: Store, commits: readonly string[]): Promise<void> {
  if (commits.length > 0)
    await writeFile(join(dir, 'shallow'), commits.map((commit) => `${commit}\n`).join(''));
}

/** Deletes refs, a thousand at a time because arguments are limited. Throws INTERNAL, which says what cannot be done. */
export async function deleteRefs(
  git: Git,
  { place }: Store,
  refs: readonly string[],
  failure: string,
): Promise<void> {
  for (let at = 0; at < refs.length; at += BATCH)
    if ((await git.script(place, DELETE, refs.slice(at, at + BATCH))).exitCode !== 0)
      throw new FleetError('INTERNAL', failure);
}

const BATCH = 1000;
const DELETE = `printf 'delete %s\\n' "$@" | git update-ref --stdin`;

/** Makes the folder for `passing`, and removes what a crash left there. */
export async function openPassing(dir: string): Promise<void> {
  await rm(join(dir, PASSING), { recursive: true, force: true });
  await mkdir(join(dir, PASSING), { mode: 0o700 });
}

/** A new path for a pack, in the file system of the folder, which has nothing any more when it is disposed of. */
export function passing(dir: string): AsyncDisposable & { readonly file: string } {
  const file = join(dir, PASSING, randomUUID());
  return { file, [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}

/** The gateway's own git, for repositories that no command can change. */
const ownPlace = (dir: string): GitPlace => ({
  cwd: dir,
  gitDir: dir,
  workTree: undefined,
  wrap: (command, args) => ({ command, args }),
});

async function create(options: StoreOptions, store: Store): Promise<void> {
  const { dir, readable, git } = options;
  const shared = readable ? ['--shared=0644'] : [];
  const init = ['init', '-q', '--bare', '-b', 'main', '--template=', ...shared, dir];
  await git.run({ ...store.place, gitDir: undefined }, init);
  await appendFile(join(dir, 'config'), SETTINGS);
  await borrow(options, store);
}

/** Names the folder that the store borrows from, at each start: the workspace may have been moved. */
async function borrow({ borrows }: StoreOptions, { objects }: Store): Promise<void> {
  if (borrows !== undefined) await writeFile(join(objects, 'info/alternates'), `${borrows}\n`);
}

/** Others borrow objects from a store, so nothing may be pruned there, also when somebody pushes to it. */
const SETTINGS = `[gc]
\tauto = 0
\tpruneExpire = never
[receive]
\tautogc = false
\tdenyNonFastForwards = false
[maintenance]
\tauto = false
[core]
\tlogAllRefUpdates = always
`;

/** Copies the refs whose objects are all there and unchanged. */
async function salvage(
  git: Git,
  broken: string,
  to: Store,
): Promise<{ readonly copied: string[]; readonly lost: string[] }> {
  // Git takes a folder for a repository only when it has these.
  for (const folder of ['objects', 'refs']) await mkdir(join(broken, folder), { recursive: true });
  await writeFile(join(broken, 'HEAD'), 'ref: refs/heads/main\n');
  const place = ownPlace(broken);
  const listed = await git.exec(place, ['for-each-ref', '--format=%(objectname) %(refname)']);
  const copied: string[] = [];
  const lost: string[] = [];
  for (const [commit = '', ref = ''] of linesOf(listed.stdout).map((line) => line.split(' '))) {
    const file = join(broken, randomUUID());
    const { result } = await receivePack(git, place, { text: PACK_ONE, args: [commit] }, { file });
    const whole = result.exitCode === 0 && (await indexPack(git, to.place, file)).exitCode === 0;
    if (whole) await git.run(to.place, ['update-ref', ref, commit]);
    (whole ? copied : lost).push(ref);
    await rm(file);
  }
  return { copied, lost };
}

const PACK_ONE = 'echo; echo "$1" | git pack-objects --revs --stdout -q';
