import type { Stats } from 'node:fs';
import { chown, stat } from 'node:fs/promises';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { COMMAND_USER, type CommandUser } from '../confinement/command-user.ts';
import { makePassableDirectory, makeSharedDirectory } from '../confinement/confinement.ts';
import { runCommand } from '../process/run-command.ts';
import { unlessAbsent } from '../process/system-error.ts';

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
 * (docs/operations.md#another-confinement). Only files of the former users change their owner: of the user of the folder, and of
 * the one whose group it has, because a gateway in a container shares its folders with the commands by their group. No link is
 * followed, and a file with several hard links stays as it is, because another context may have it too. A hand-over that is
 * interrupted is repeated with the next call. Throws INTERNAL when this process may not do that; the log has the command that does.
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
    const from = await stat(folder).catch(unlessAbsent);
    if (from !== undefined && !isOwned(from)) foreign.push({ folder, from });
  }
  const [first] = foreign;
  if (first === undefined) return;
  const former = first.from.uid === own.uid ? first.from.gid : first.from.uid;
  const changed = `the files of a context belong to user ${former}, and its commands run as user ${to.uid}`;
  const told = { context, former, now: to.uid };
  if (!mayChown) {
    const paths = foreign.map(({ folder }) => folder).join(' ');
    const command = `find ${paths} -xdev \\( -type d -o -links 1 \\) -exec chown -h ${to.uid}:${to.gid} {} +`;
    log.error({ ...told, command }, `${changed}: run this command as root`);
    throw new FleetError(
      'INTERNAL',
      `${changed}, because their confinement has changed; the log has the command that gives the files over`,
      { retryable: false },
    );
  }
  let linked = 0;
  for (const { folder, from } of foreign) {
    const former = ['-mindepth', '1', '(', '-uid', `${from.uid}`, '-o', '-uid', `${from.gid}`, ')'];
    // A path may be longer than a system call takes, so chown runs in the folder of each file.
    const give = ['-execdir', 'chown', '-h', `${to.uid}:${to.gid}`, '--', '{}', '+'];
    const args = [folder, '-xdev', ...former, '(', ...SINGLE, ...give, '-o', ...COUNTED, ')'];
    const limits = { timeoutMs: CHOWN_MS, maxBytes: Number.MAX_SAFE_INTEGER, clock };
    const onStdout = (dots: Buffer): void => {
      linked += dots.length;
    };
    const ran = await runCommand({ command: 'find', args }, { cwd: context, ...limits, onStdout });
    if (ran.exitCode !== 0) {
      log.error({ ...told, stderr: ran.stderr }, 'the files of a context cannot be given over');
      throw new FleetError('INTERNAL', `${changed}; they cannot be given over, and the log says why`);
    }
    // The owner of the folder tells that a hand-over is due, so it changes last.
    await chown(folder, to.uid, to.gid);
    await makeSharedDirectory(folder, otherUser, user);
  }
  if (user === undefined) await makePassableDirectory(context, otherUser);
  log.warn(told, `${changed}: they were given over, because the confinement has changed`);
  if (linked > 0)
    log.warn({ ...told, linked }, 'files of a context with several hard links were not given over');
}

/** An expression of find: a folder, or a file that is in no other folder too. */
const SINGLE = ['(', '-type', 'd', '-o', '-links', '1', ')'];
/** Prints one byte for each file. */
const COUNTED = ['-printf', '.'];
