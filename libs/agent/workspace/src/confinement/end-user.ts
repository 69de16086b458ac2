import { constants, existsSync, readFileSync } from 'node:fs';
import { access, lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import { kill } from '../process/kill-tree.ts';
import { processesOf } from '../process/proc.ts';
import { type CommandLine, type CommandResult, type RunOptions, runCommand } from '../process/run-command.ts';
import { hasCode } from '../process/system-error.ts';
import type { CommandUser } from './command-user.ts';

/** Folders outside of its context that a command can write to. The gateway must be able to list them. */
const SHARED_PLACES = ['/tmp', '/dev/shm', '/dev/mqueue'];

const END_MS = 5000;
const STEP_MS = 10;
const BATCH = 500;
const MAX_BATCHES = 200;

export interface AsUserOptions {
  /** The command line of a shell script that runs as a user of commands. */
  readonly shellAs: (user: CommandUser, script: string, args: readonly string[]) => CommandLine;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs a shell script of the gateway's as the user: with its rights to its files and processes. The processes of the user can
 * take it over, so it has no more rights than they have, but for Landlock, which keeps them from it.
 */
export function runAs(
  user: CommandUser,
  script: string,
  args: readonly string[],
  {
    shellAs,
    clock,
    timeoutMs = 60_000,
    signal,
  }: AsUserOptions & Partial<Pick<RunOptions, 'timeoutMs' | 'signal'>>,
): Promise<CommandResult> {
  return runCommand(shellAs(user, script, args), { timeoutMs, signal, clock });
}

/** The shared folders that the gateway cannot list, and so cannot empty. */
export async function cannotList(): Promise<string[]> {
  const closed = await Promise.all(
    SHARED_PLACES.map((place) =>
      access(place, constants.R_OK).then(
        () => false,
        (error) => !hasCode(error, 'ENOENT'),
      ),
    ),
  );
  return SHARED_PLACES.filter((_, index) => closed[index]);
}

/**
 * Ends all processes of the user and removes what they left in shared folders and in SysV IPC. Resolves when none of them
 * is left; throws INTERNAL when that takes more than 5 s. What cannot be removed is logged.
 */
export async function endUser(user: CommandUser, options: AsUserOptions): Promise<void> {
  await endProcesses(user, options);
  for (const place of SHARED_PLACES) await empty(place, user, options);
  await removeSegments(user, options);
}

/**
 * `kill -1` as the user reaches all its processes at once, so that none can fork out of it. Those can stop or kill the one
 * that does it, so it is repeated, and the processes that are seen are killed one by one too.
 */
async function endProcesses(user: CommandUser, options: AsUserOptions): Promise<void> {
  const { clock } = options;
  const until = clock.now() + END_MS;
  let swept: CommandResult | undefined;
  for (;;) {
    if (swept?.exitCode !== 0) swept = await runAs(user, KILL_ALL, [], { ...options, timeoutMs: 1000 });
    const left = processesOf(user.uid);
    if (swept.exitCode === 0 && left.length === 0) return;
    if (clock.now() >= until) {
      const { exitCode, killed, stderr } = swept;
      const found = { uid: user.uid, pids: left.slice(0, 20), exitCode, killed, stderr };
      options.log.error(found, 'the processes of a context cannot be ended');
      throw new FleetError(
        'INTERNAL',
        'the processes of this context cannot be ended; the log has the reason',
      );
    }
    if (swept.exitCode !== 0) for (const pid of left) kill(pid);
    await clock.sleep(STEP_MS);
  }
}

/** Fails when there is nobody to kill, which is fine. */
const KILL_ALL = 'kill -9 -1 2>/dev/null; exit 0';

async function empty(place: string, user: CommandUser, options: AsUserOptions): Promise<void> {
  for (let batch = 0; batch < MAX_BATCHES; batch += 1) {
    const names = await entriesOf(place, user.uid);
    if (names.length === 0) return;
    const { exitCode, stderr } = await runAs(
      user,
      REMOVE,
      [place, ...names.map((name) => `./${name}`)],
      options,
    );
    if (exitCode === 0) continue;
    options.log.warn({ place, uid: user.uid, stderr }, 'what a command left behind cannot be removed');
    return;
  }
}

/** `chmod` opens folders that their user closed to itself. It fails for what others put into them. */
const REMOVE = 'cd "$1" && shift && { chmod -R u+rwX -- "$@" 2>/dev/null; rm -rf -- "$@"; }';

/** Names of the user's entries in a folder, at most `BATCH`. A folder that is missing or cannot be listed has none. */
async function entriesOf(place: string, uid: number): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const { name } of await opendir(place)) {
      const owner = await lstat(join(place, name)).catch(() => undefined);
      if (owner?.uid === uid) found.push(name);
      if (found.length >= BATCH) break;
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'EACCES')) throw error;
  }
  return found;
}

async function removeSegments(user: CommandUser, options: AsUserOptions): Promise<void> {
  for (let rest = segmentsOf(user.uid); rest.length > 0; rest = rest.slice(BATCH)) {
    const { exitCode, stderr } = await runAs(user, 'ipcrm "$@"', rest.slice(0, BATCH).flat(), options);
    if (exitCode !== 0)
      options.log.warn({ uid: user.uid, stderr }, 'SysV IPC of a command cannot be removed');
  }
}

const SEGMENTS = { shm: ['shmid', '-m'], sem: ['semid', '-s'], msg: ['msqid', '-q'] } as const;

/** The SysV IPC objects that the user owns or made, as arguments of `ipcrm`. */
function segmentsOf(uid: number): [option: string, id: string][] {
  return Object.entries(SEGMENTS).flatMap(([kind, [key, option]]) => {
    // A kernel without SysV IPC has no such file.
    const file = `/proc/sysvipc/${kind}`;
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [''];
    const [header = [], ...rows] = lines.map((line) => line.trim().split(/\s+/));
    const columns = { id: header.indexOf(key), owners: [header.indexOf('uid'), header.indexOf('cuid')] };
    return rows
      .filter((row) => columns.owners.some((column) => row[column] === String(uid)))
      .map((row): [string, string] => [option, row[columns.id] ?? '']);
  });
}
