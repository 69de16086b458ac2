import { existsSync } from 'node:fs';
import type { Clock } from '@hermes-fleet/protocol/ports';
import { type CommandLine, runCommand } from '../process/run-command.ts';
import { firstLine } from '../process/system-error.ts';
import type { CommandUser } from './command-user.ts';
import type { Reach } from './confinement.ts';
import { SETTINGS, SYSTEM } from './system-paths.ts';

/** Where the image has the program that is compiled from `landlock-exec.c`. */
export const LANDLOCK_EXEC = '/usr/local/libexec/landlock-exec';

const PROBE_MS = 10_000;

/**
 * Settings that bubblewrap hides. Landlock would show and deny them, and programs end at a denied file where they go on
 * without a missing one, as git does at /etc/gitconfig.
 */
const OPTIONAL_SETTINGS = [
  '/etc/bash.bashrc',
  '/etc/gai.conf',
  '/etc/gitconfig',
  '/etc/host.conf',
  '/etc/inputrc',
  '/etc/mime.types',
  '/etc/profile',
  '/etc/profile.d',
  '/etc/protocols',
  '/etc/terminfo',
];

/** As bubblewrap's `--dev` and `/tmp`. What belongs to other users there is closed by its mode. */
const WRITABLE = [
  ...['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom', '/dev/tty', '/dev/ptmx'],
  ...['/dev/pts', '/dev/shm', '/dev/mqueue', '/tmp'],
];

/** The ABI of this kernel's Landlock, or why it cannot be used; `filters` when the helper works without it. */
export type LandlockProbe =
  | { readonly abi: number }
  | { readonly missing: string; readonly filters: boolean };

/** Finds the ABI of this kernel's Landlock by restricting a command. */
export async function probeLandlock(helper: string, clock: Clock): Promise<LandlockProbe> {
  if (!existsSync(helper)) return { missing: `${helper} is not installed`, filters: false };
  const ask = async (...args: string[]) => {
    const line = { command: helper, args: [...args, '--', helper, '--abi'] };
    const { exitCode, stdout, stderr } = await runCommand(line, { timeoutMs: PROBE_MS, clock });
    return { abi: exitCode === 0 && /^\d+\n$/.test(stdout) ? Number(stdout) : undefined, stderr };
  };
  const { abi, stderr } = await ask('--write', '/');
  if (abi !== undefined) return { abi };
  const missing = firstLine(stderr, `${helper} does not work`);
  return { missing, filters: (await ask()).abi !== undefined };
}

/**
 * Runs the command as another user, as `asUser` does, under the filter of system calls, and restricted to `reach` and the
 * readable paths, if there are paths. Rights add up: a path of `reach.readOnly` inside a writable one stays writable.
 */
export function dropUserRestricted(
  helper: string,
  command: string,
  args: readonly string[],
  as: {
    readonly paths: { readonly reach: Reach; readonly readable: readonly string[] } | undefined;
    /** The file of a filter of system calls. */
    readonly filter: string | undefined;
    readonly user: CommandUser;
    readonly markGid?: number | undefined;
  },
): CommandLine {
  const { paths, filter, user, markGid } = as;
  const restricted = paths === undefined ? [] : restrictions(paths.reach, paths.readable);
  const filtered = filter === undefined ? [] : ['--seccomp', filter];
  const ids = ['--user', String(user.uid), ...(markGid === undefined ? [] : ['--mark', String(markGid)])];
  const line = { command: helper, args: [...ids, ...filtered, ...restricted, '--', command, ...args] };
  return markGid === undefined ? line : { ...line, markGid };
}

function restrictions(reach: Reach, readable: readonly string[]): string[] {
  // Read-only, because a command could lower its oom_score_adj there.
  const read = ['/proc', ...SYSTEM, ...SETTINGS, ...OPTIONAL_SETTINGS, ...readable, ...reach.readOnly];
  const write = [...WRITABLE, ...reach.writable];
  return [...read.flatMap((path) => ['--read', path]), ...write.flatMap((path) => ['--write', path])];
}
