import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Confinement, makeSharedDirectory } from '../confinement/confinement.ts';
import { findBuilds, ignoringBuilds } from '../git/build-files.ts';
import type { Git, GitPlace } from '../git/git.ts';
import { unusable, usersRepository } from '../stores/users-repository.ts';

/** A repository whose own working tree tasks work in. */
export interface Repository {
  readonly dir: string;
  readonly gitDir: string;
  readonly place: GitPlace;
}

/**
 * Opens the repository for work in place: the one at `path`, which must have a commit, else `<root>/repo`, which is created
 * with an initial commit when absent. Commands must be able to write to it.
 */
export async function openRepository(options: {
  readonly root: string;
  readonly path: string | undefined;
  readonly git: Git;
  readonly confinement: Confinement;
}): Promise<Repository> {
  const { path, git, confinement } = options;
  const dir = path === undefined ? join(options.root, 'repo') : await usersRepository(path);
  if (path === undefined) await makeSharedDirectory(dir, confinement.otherUser);
  const wrap: GitPlace['wrap'] = (command, args) =>
    confinement.wrap(command, args, { writable: [dir], readOnly: [] });
  const gitDir = join(dir, '.git');
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap, ...ignoringBuilds(gitDir) };
  if (path === undefined && !(await readdir(dir)).includes('.git'))
    await git.run({ ...place, gitDir: undefined, workTree: undefined }, ['init', '-q', '-b', 'main']);
  if ((await git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD'])) !== 0) {
    if (path !== undefined)
      throw unusable(path, 'it is not the top of a git repository with a commit that commands can read');
    await git.run(place, ['commit', '-q', '--allow-empty', '--no-verify', '-m', 'Start the workspace']);
  }
  if ((await git.script(place, USABLE, [gitDir])) !== 0)
    throw unusable(
      dir,
      'commands cannot write to its .git directory (uid 1001 where the gateway changes users)',
    );
  if ((await git.script(place, WRITABLE, [dir, gitDir])) !== 0)
    throw unusable(
      dir,
      'commands cannot write to the working tree (uid 1001 where the gateway changes users)',
    );
  await findBuilds(git, place, gitDir);
  return { dir, gitDir, place };
}

/** The hooks folder must exist, because commands get it mounted read-only. */
const USABLE = 'test -w "$1/objects" && test -w "$1/refs" && mkdir -p "$1/hooks"';

const WRITABLE = 'test -w "$1" && test -w "$2"';
