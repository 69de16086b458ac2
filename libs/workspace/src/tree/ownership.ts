import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Clock, FleetError, type Log } from '@hermes-fleet/protocol';
import { COMMAND_ENV } from '../confinement/command-env.ts';
import { COMMAND_USER, type CommandUser } from '../confinement/command-user.ts';
import { makePassableDirectory, makeSharedDirectory } from '../confinement/confinement.ts';
import { hasCode } from '../files/anchored-folder.ts';
import { runCommand } from '../process/run-command.ts';

export interface Ownership {
  /** True when commands run as another user. */
  readonly otherUser: boolean;
  /** The context's own user, if it has one. */
  readonly user: CommandUser | undefined;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this process may give files to others; default: as root. */
  readonly mayChown?: boolean;
}

const CHOWN_MS = 10 * 60_000;

/**
 * Gives the folders of a context to the user of its commands, when they were made under another confinement
 * (docs/operations.md#another-confinement). Only files of the former user change their owner, and no link is followed.
 * Throws INTERNAL when this process may not do that; the log has the command that does.
 */
export async function ownFolders(
  context: string,
  folders: readonly string[],
  { otherUser, user, clock, log, mayChown = process.getuid?.() === 0 }: Ownership,
): Promise<void> {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const to = otherUser ? (user ?? COMMAND_USER) : own;
  // A gateway that is not root keeps the folder itself, with the group of the user.
  const isOwned = ({ uid, gid }: Stats): boolean => (otherUser ? gid === to.gid : uid === to.uid);
  const foreign: { readonly folder: string; readonly from: Stats }[] = [];
  for (const folder of folders) {
    const from = await stat(folder).catch((error) => {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (from !== undefined && !isOwned(from)) foreign.push({ folder, from });
  }
  const [first] = foreign;
  if (first === undefined) return;
  const former = first.from.uid === own.uid ? first.from.gid : first.from.uid;
  const changed = `the files of a context belong to user ${former}, and its commands run as user ${to.uid}`;
  const told = { context, former, now: to.uid };
  if (!mayChown) {
    const paths = foreign.map(({ folder }) => folder).join(' ');
    log.error(
      { ...told, command: `chown -Rh ${to.uid}:${to.gid} ${paths}` },
      `${changed}: run this command as root`,
    );
    throw new FleetError(
      'INTERNAL',
      `${changed}, because their confinement has changed; the log has the command that gives the files over`,
      { retryable: false },
    );
  }
  for (const { folder, from } of foreign) {
    const args = ['-Rh', `--from=${from.uid}`, `${to.uid}:${to.gid}`, '--', folder];
    const limits = { timeoutMs: CHOWN_MS, keepBytes: 4096, maxBytes: 1024 * 1024, clock };
    const ran = await runCommand({ command: 'chown', args }, { cwd: context, env: COMMAND_ENV, ...limits });
    if (ran.exitCode !== 0) {
      log.error({ ...told, stderr: ran.stderr }, 'the files of a context cannot be given over');
      throw new FleetError('INTERNAL', `${changed}; they cannot be given over, and the log says why`);
    }
    await makeSharedDirectory(folder, otherUser, user);
  }
  if (user === undefined) await makePassableDirectory(context, otherUser);
  log.warn(told, `${changed}: they were given over, because the confinement has changed`);
}
