import { randomInt } from 'node:crypto';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type CommandLine, runCommand } from '../process/run-command.ts';
import { firstLine, unlessAbsent } from '../process/system-error.ts';
import { COMMAND_GID, COMMAND_USER, type CommandUser, isRoot } from './command-user.ts';
import { type AsUserOptions, cannotList, endUser, runAs } from './end-user.ts';
import { type RunAsOwner, removeFolder } from './remove-folder.ts';
import { defaultUsers, isMapped, type UserRange } from './user-range.ts';

export type CommandUsers = ReturnType<typeof openCommandUsers>;
export type UserLease = Awaited<ReturnType<CommandUsers['lease']>>;

interface Use {
  holders: number;
  /** Preparing and ending take turns. */
  turn: Promise<void>;
}

/**
 * The users of contexts (docs/decisions/0027-user-per-context.md). Finds those below `contexts`, and lets them pass through it;
 * `range` has only users of this gateway. A context's directory has the group of its user, for as long as it exists: no two
 * contexts have files of one user, and no record has to be kept.
 */
export function openCommandUsers(
  options: AsUserOptions & { readonly contexts: string; readonly range: UserRange },
) {
  const { contexts, range, log } = options;
  chmodSync(contexts, (lstatSync(contexts).mode & 0o7777) | 0o011);
  const taken = takenBelow(contexts, range);
  const uses = new Map<number, Use>();
  /** Users of which nothing of an earlier use is left. */
  const clean = new Set<number>();
  // The kernel counts processes by number, so containers whose contexts had the same ones would share a limit.
  let last = taken.size > 0 ? Math.max(...taken) : randomInt(range.first, range.last + 1);

  function free(): number {
    if (taken.size > range.last - range.first) {
      throw new FleetError(
        'QUEUE_FULL',
        `all ${taken.size} users for commands have a context; contexts free them when they are removed`,
      );
    }
    do last = last >= range.last ? range.first : last + 1;
    while (taken.has(last));
    taken.add(last);
    return last;
  }

  /** The directory's group; a new directory gets one. Synchronous, so that it gets only one. */
  function userOf(dir: string): CommandUser {
    const gid = lstatSync(dir, { throwIfNoEntry: false })?.gid ?? COMMAND_GID;
    if (isIn(range, gid)) return { uid: gid, gid };
    if (!isOurs(gid)) {
      log.error({ dir, gid, range }, 'a context belongs to a user outside of HERMES_COMMAND_USERS');
      throw new FleetError(
        'INTERNAL',
        'the context belongs to a user outside of the configured range; the log has both',
        { retryable: false },
      );
    }
    const id = free();
    try {
      joinGroup(id);
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      chmodSync(dir, 0o710);
      chownSync(dir, -1, id);
    } catch (error) {
      taken.delete(id);
      leaveGroup(id);
      throw error;
    }
    return { uid: id, gid: id };
  }

  /** Runs `work` after what runs for this user already. */
  async function inTurn(use: Use, work: () => Promise<void>): Promise<void> {
    const done = use.turn.then(work);
    use.turn = done.catch(() => {});
    await done;
  }

  async function give(user: CommandUser, use: Use, end: boolean): Promise<void> {
    use.holders -= 1;
    try {
      if (end && use.holders === 0) {
        clean.delete(user.uid);
        await inTurn(use, async () => {
          await endUser(user, options);
          clean.add(user.uid);
        });
      }
    } finally {
      if (use.holders === 0) {
        leaveGroup(user.gid);
        uses.delete(user.uid);
      }
    }
  }

  /**
   * Resolves with the context's user when nothing of an earlier use is left. Makes the directory when absent: the
   * gateway's, mode 0710, with the user's group. The gateway is in the group until the release. Throws QUEUE_FULL when
   * every user has a context, and INTERNAL when processes of an earlier use cannot be ended.
   */
  async function lease(contextDir: string) {
    const user = userOf(contextDir);
    const use = uses.get(user.uid) ?? { holders: 0, turn: Promise.resolve() };
    uses.set(user.uid, use);
    use.holders += 1;
    joinGroup(user.gid);
    try {
      await inTurn(use, async () => {
        // A look at the processes is not enough: one that forks and exits all the time is at no pid for long.
        if (!clean.has(user.uid)) await endUser(user, options);
        clean.add(user.uid);
      });
    } catch (error) {
      await give(user, use, false);
      throw error;
    }
    let released: Promise<void> | undefined;
    return {
      user,
      /**
       * Gives the user back; further calls do nothing. When nobody else holds it, resolves once all its processes have ended
       * and what they left in shared folders is removed.
       */
      release(): Promise<void> {
        released ??= give(user, use, true);
        return released;
      },
    };
  }

  return {
    lease,
    /** Opens files and folders below `paths` to the gateway again after their user closed them, by `chmod 700`. */
    async reopen(user: CommandUser, paths: readonly string[]): Promise<void> {
      if (paths.length === 0) return;
      const { exitCode, stderr } = await runAs(user, REOPEN, [String(user.uid), ...paths], options);
      if (exitCode !== 0) log.warn({ paths, stderr }, 'files of a context stay closed to the gateway');
    },
    /**
     * Removes a context that nobody uses with everything in it, ends all processes of its user, and frees the user. Does
     * nothing when it is absent. Throws INTERNAL when something is left, which the next call goes on with.
     */
    async remove(contextDir: string, signal?: AbortSignal): Promise<void> {
      const found = await lstat(contextDir).catch(unlessAbsent);
      if (found === undefined) return;
      const as =
        (user: CommandUser): RunAsOwner =>
        (script, folders, limits) =>
          runAs(user, script, folders, { ...options, ...limits });
      // It was made where contexts had no users of their own.
      if (!isIn(range, found.gid) && isOurs(found.gid))
        return removeFolder(contextDir, as(COMMAND_USER), { ...options, signal });
      if (uses.has(found.gid)) throw new FleetError('INTERNAL', 'a context that is in use cannot be removed');
      const held = await lease(contextDir);
      const { uid } = held.user;
      try {
        await removeFolder(contextDir, as(held.user), { ...options, signal });
      } finally {
        await held.release();
      }
      taken.delete(uid);
    },
  };
}

/** A folder is opened before `find` enters it. */
const REOPEN = `uid=$1; shift; exec find "$@" -uid "$uid" \\( -type d ! -perm -0770 -exec chmod ug+rwx {} \\; \\
  -o -type f ! -perm -0660 -exec chmod ug+rw {} + \\)`;

function takenBelow(contexts: string, range: UserRange): Set<number> {
  const groups = readdirSync(contexts).map(
    (name) => lstatSync(join(contexts, name), { throwIfNoEntry: false })?.gid ?? 0,
  );
  return new Set(groups.filter((gid) => isIn(range, gid)));
}

/** The group of a folder that no context's user has got yet. */
const isOurs = (gid: number): boolean => gid === process.getgid?.() || gid === COMMAND_GID;

const isIn = ({ first, last }: UserRange, id: number): boolean => id >= first && id <= last;

const PROBE_MS = 10_000;

/** Opens the users of the contexts below `root`, or resolves with the reason why there are none; runs a command as one. */
export async function usersFor(
  wrap: (
    command: string,
    args: readonly string[],
    reach: { readonly writable: []; readonly readOnly: []; readonly user: CommandUser },
  ) => CommandLine,
  options: AsUserOptions & { readonly root: string; readonly users: UserRange | undefined },
): Promise<{ readonly users: CommandUsers } | { readonly missing: string }> {
  const { root, clock, log } = options;
  const range = options.users ?? defaultUsers(root);
  if (!isMapped(range)) {
    const missing = `users ${range.first} to ${range.last} do not exist here; set HERMES_COMMAND_USERS`;
    return { missing };
  }
  const user = { uid: range.last, gid: range.last };
  try {
    joinGroup(user.gid);
    leaveGroup(user.gid);
    const line = wrap('/bin/sh', ['-c', 'id -u'], { writable: [], readOnly: [], user });
    const { stdout, stderr } = await runCommand(line, { timeoutMs: PROBE_MS, clock });
    if (stdout.trim() !== String(user.uid)) return { missing: firstLine(stderr, 'no command runs as one') };
  } catch (error) {
    return { missing: firstLine(String(error), 'no command runs as one') };
  }
  for (const place of await cannotList()) {
    log.warn({ place }, 'the gateway cannot list this folder: what commands leave there stays');
  }
  return { users: openCommandUsers({ ...options, contexts: join(root, 'contexts'), range }) };
}

/** Adds a group to this process's own. Throws EPERM without the capability SETGID. Root joins nothing: it reads everything. */
function joinGroup(gid: number): void {
  const groups = ownGroups();
  if (!isRoot() && !groups.includes(gid)) process.setgroups?.([...groups, gid]);
}

function leaveGroup(gid: number): void {
  const groups = ownGroups();
  if (!isRoot() && groups.includes(gid)) process.setgroups?.(groups.filter((group) => group !== gid));
}

const ownGroups = (): number[] => process.getgroups?.() ?? [];
