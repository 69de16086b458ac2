import { access, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type Confinement, makeSharedDirectory } from '../confinement/confinement.ts';
import type { Git, GitPlace } from './git.ts';

export interface Repository {
  /** The base working tree. */
  readonly dir: string;
  readonly gitDir: string;
  /** For git commands that concern the whole repository. */
  readonly place: GitPlace;
}

/**
 * Opens the base repository of all contexts: the one at `path`, which must have a commit, else `<root>/repo`, which is
 * created with an initial commit when absent.
 */
export async function openRepository(options: {
  readonly root: string;
  readonly path: string | undefined;
  /** True when tasks work in the base tree itself, so commands must be able to write to it. */
  readonly inPlace: boolean;
  readonly git: Git;
  readonly confinement: Confinement;
}): Promise<Repository> {
  const dir = options.path === undefined ? join(options.root, 'repo') : await existing(options.path);
  if (options.path === undefined) await makeSharedDirectory(dir, options.confinement.otherUser);
  const reach = { writable: options.path === undefined ? [options.root] : [options.root, dir], readOnly: [] };
  const wrap: GitPlace['wrap'] = (command, args) => options.confinement.wrap(command, args, reach);
  const gitDir = join(dir, '.git');
  const place: GitPlace = { cwd: dir, gitDir, workTree: dir, wrap };
  if (options.path === undefined && !(await readdir(dir)).includes('.git')) {
    await options.git.run({ cwd: dir, gitDir: undefined, workTree: undefined, wrap }, [
      'init',
      '-q',
      '-b',
      'main',
    ]);
  }
  if ((await options.git.ask(place, ['rev-parse', '-q', '--verify', 'HEAD'])) !== 0) {
    if (options.path !== undefined) {
      throw unusable(
        options.path,
        'it is not the top of a git repository with a commit that commands can read',
      );
    }
    await options.git.run(place, [
      'commit',
      '-q',
      '--allow-empty',
      '--no-verify',
      '-m',
      'Start the workspace',
    ]);
  }
  if ((await options.git.script(place, USABLE, [gitDir])) !== 0) {
    throw unusable(
      dir,
      'commands cannot write to its .git directory (uid 1001 where the gateway changes users)',
    );
  }
  if (options.inPlace && (await options.git.script(place, WRITABLE, [dir, gitDir])) !== 0) {
    throw unusable(
      dir,
      'commands cannot write to the working tree (uid 1001 where the gateway changes users)',
    );
  }
  return { dir, gitDir, place };
}

/** The hooks folder must exist, because commands get it mounted read-only. */
const USABLE = 'test -w "$1/objects" && test -w "$1/refs" && mkdir -p "$1/hooks"';

const WRITABLE = 'test -w "$1" && test -w "$2"';

async function existing(path: string): Promise<string> {
  try {
    await access(join(path, '.git'));
    return await realpath(path);
  } catch (cause) {
    throw unusable(path, 'it is not a git repository', cause);
  }
}

function unusable(path: string, reason: string, cause?: unknown): FleetError {
  return new FleetError('CONFIG_INVALID', `workspace.path ${path} cannot be used: ${reason}`, {
    fields: [{ path: 'config.yaml workspace.path', reason }],
    cause,
  });
}
