import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { CommandUser } from '../confinement/command-user.ts';
import type { UserLease } from '../confinement/command-users.ts';
import {
  type Confinement,
  makePassableDirectory,
  makeSharedDirectory,
  type Reach,
} from '../confinement/confinement.ts';
import { anchoredFiles } from '../files/anchored-path.ts';
import { isThere } from '../files/is-there.ts';
import type { Git } from '../git/git.ts';
import type { Base } from '../stores/base.ts';
import { type Ownership, ownFolders } from './ownership.ts';
import { ARCHIVE } from './take-over.ts';
import type { OpenTree } from './workspace.ts';

/** The folders of a context, which commands can write to, and the context's user while it is open. */
export interface ContextPlace extends OpenTree {
  readonly tmp: string;
  readonly home: string;
  /** Makes the folders, with the files that a take-over left for them. */
  make(git: Git): Promise<void>;
}

/**
 * Opens the folder of a context, which belongs to the gateway. Where users can be changed, the context's own user is leased;
 * when the place is disposed of, everything of that user has ended and is swept.
 */
export async function openContextPlace(
  context: string,
  confinement: Confinement,
  base: Pick<Base, 'objects'>,
  parts: Pick<Ownership, 'clock' | 'log'>,
): Promise<ContextPlace> {
  const { otherUser, users } = confinement;
  const [dir, tmp, home] = [join(context, 'tree'), join(context, 'tmp'), join(context, 'home')];
  const lease: UserLease | undefined = await users?.lease(context);
  const user: CommandUser | undefined = lease?.user;
  const reach: Reach = { writable: [dir, tmp, home], readOnly: [base.objects], ...(user && { user }) };
  const wrap: OpenTree['wrap'] = (command, args, proxy) =>
    confinement.wrap(command, args, { ...reach, proxy });
  try {
    await ownFolders(context, [dir, tmp, home], { otherUser, user, ...parts });
  } catch (error) {
    await lease?.release();
    throw error;
  }
  return {
    dir,
    tmp,
    home,
    files: anchoredFiles(dir, otherUser, user),
    wrap,
    async make(git) {
      if (user === undefined) await makePassableDirectory(context, otherUser);
      for (const folder of [dir, tmp, home]) await makeSharedDirectory(folder, otherUser, user);
      const archive = join(context, ARCHIVE);
      if (await isThere(archive)) await unpack(archive, dir, git, wrap);
    },
    [Symbol.asyncDispose]: async () => lease?.release(),
  };
}

/** Unpacks, as the context's user, the files that belonged to the user that all commands had (take-over.ts). */
async function unpack(archive: string, tree: string, git: Git, wrap: OpenTree['wrap']): Promise<void> {
  await using stdin = await open(archive, 'r');
  const place = { cwd: tree, gitDir: undefined, workTree: undefined, wrap };
  const call = { stdin: stdin.fd, timeoutMs: UNPACK_MS };
  const { exitCode, stderr } = await git.exec(place, '/bin/sh', ['-c', 'exec tar -xf -'], call);
  if (exitCode !== 0)
    throw new FleetError(
      'INTERNAL',
      `the files of an older version cannot be unpacked: ${stderr.slice(0, 300)}`,
    );
}

const UNPACK_MS = 30 * 60_000;
