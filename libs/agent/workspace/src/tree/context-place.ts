import { join } from 'node:path';
import type { CommandUser } from '../confinement/command-user.ts';
import {
  type Confinement,
  makePassableDirectory,
  makeSharedDirectory,
  type Reach,
} from '../confinement/confinement.ts';
import { anchoredFiles } from '../files/anchored-path.ts';
import type { Base } from '../stores/base.ts';
import { type Ownership, ownFolders } from './ownership.ts';
import type { OpenTree } from './workspace.ts';

/** The folders of a context, which commands can write to, and the context's user while it is open. */
export interface ContextPlace extends OpenTree {
  readonly tmp: string;
  readonly home: string;
  /** The context's own user, if it has one. */
  readonly user: CommandUser | undefined;
  /** Makes the folders. */
  make(): Promise<void>;
}

/**
 * Opens the folder of a context, which belongs to the gateway. Where users can be changed, the context's own user is leased;
 * when the place is disposed of, everything of that user has ended and is swept.
 */
export async function openContextPlace(
  context: string,
  confinement: Confinement,
  base: Pick<Base, 'objects' | 'giveTo'>,
  parts: Pick<Ownership, 'clock' | 'log'>,
): Promise<ContextPlace> {
  const { otherUser, users } = confinement;
  const [dir, tmp, home] = [join(context, 'tree'), join(context, 'tmp'), join(context, 'home')];
  const lease = await users?.lease(context);
  const user = lease?.user;
  const reach: Reach = { writable: [dir, tmp, home], readOnly: [base.objects], ...(user && { user }) };
  const wrap: OpenTree['wrap'] = (command, args, proxy) =>
    confinement.wrap(command, args, { ...reach, proxy });
  await using opening = new AsyncDisposableStack();
  opening.defer(async () => lease?.release());
  opening.use(await base.giveTo(user));
  await ownFolders(context, [dir, tmp, home], { otherUser, user, ...parts });
  const opened = opening.move();
  return {
    dir,
    tmp,
    home,
    user,
    files: anchoredFiles(dir, otherUser, user),
    wrap,
    async make() {
      if (user === undefined) await makePassableDirectory(context, otherUser);
      for (const folder of [dir, tmp, home]) await makeSharedDirectory(folder, otherUser, user);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
