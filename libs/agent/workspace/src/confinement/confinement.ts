import { chmod, chown, type FileHandle, mkdir, stat } from 'node:fs/promises';
import type { CommandRecords } from '../process/command-records.ts';
import type { CommandLine } from '../process/run-command.ts';
import { COMMAND_USER, type CommandUser, isRoot } from './command-user.ts';
import type { CommandUsers } from './command-users.ts';

export type ConfinementMethod = 'bubblewrap' | 'uid' | 'unconfined' | 'none';

/** Paths that a confined command may access, in addition to the system's. They are absolute and exist. */
export interface Reach {
  readonly writable: readonly string[];
  /**
   * Read-only paths. One inside a writable path takes precedence over it with bubblewrap; where another user confines,
   * the files' modes decide.
   */
  readonly readOnly: readonly string[];
  /** Whom the command runs as where the gateway changes users; default: `COMMAND_USER`. */
  readonly user?: CommandUser;
  /** Shown by bubblewrap as `PROXY_PLACES`. */
  readonly proxy?: ProxyFiles | undefined;
}

/** The files by which a command reaches the proxy of the gateway. No other command sees its socket. */
export interface ProxyFiles {
  readonly relay: string;
  readonly socket: string;
}

/** A directory of a server's own, and the confinement to it. */
export interface ServerPlace {
  readonly dir: string;
  wrap(command: string, args: readonly string[], proxy?: ProxyFiles): CommandLine;
}

/** Keeps commands away from the gateway's tokens, ledger and environment (SECURITY.md#protections). */
export interface Confinement {
  /** `none`: no method works on this machine, so the agent's commands are not run. */
  readonly method: ConfinementMethod;
  /** One line for the start-up log, `/ready` and `fleet doctor`: the method and its protections, or how to enable one. */
  readonly note: string;
  /** Returns a command line that runs confined to `reach`; with `none` and `unconfined`, the command itself. */
  wrap(command: string, args: readonly string[], reach: Reach): CommandLine;
  /** Confines a server that all tasks share: it may write to the folder `mcp` of the workspace only. */
  launch(command: string, args: readonly string[]): CommandLine;
  /**
   * Makes a directory of the workspace that no other server can change, and confines the instance that measures a server of
   * tasks to it, as those are. The name may be any text.
   */
  serverPlace(name: string): Promise<ServerPlace>;
  /** True when commands run as another user, with whom the gateway must share the files that it makes. */
  readonly otherUser: boolean;
  /** True where the commands of all contexts run as one other user, and nothing else keeps them from each other's files. */
  readonly sharesUser?: boolean;
  /** Records what is run while it runs, so that the next start ends what a crash left; absent: nothing is recorded. */
  readonly records?: CommandRecords;
  /** A user for each context; absent where the gateway cannot change users, or has too few. */
  readonly users?: CommandUsers;
}

/** Makes a directory that commands may pass through, to what they know of in it, and nothing else. */
export async function makePassableDirectory(path: string, otherUser: boolean): Promise<void> {
  await mkdir(path, { recursive: true });
  if (isRoot()) await chown(path, 0, 0);
  await chmod(path, otherUser ? 0o711 : 0o700);
}

/** Makes a directory that commands of `user` may write to, below a parent that they may not write to. */
export async function makeSharedDirectory(
  path: string,
  otherUser: boolean,
  user: CommandUser = COMMAND_USER,
): Promise<void> {
  await mkdir(path, { recursive: true });
  if (!otherUser) return;
  const { uid, gid } = await stat(path);
  if (isRoot()) await chown(path, user.uid, user.gid);
  else if (uid === process.getuid?.() && gid !== user.gid) await chown(path, -1, user.gid);
  if (isRoot() || uid === process.getuid?.()) await chmod(path, 0o2770);
}

/** Lets commands of `user`, and of no other, pass through a directory of the gateway. */
export async function passDirectoryTo(
  path: string,
  otherUser: boolean,
  user: CommandUser = COMMAND_USER,
): Promise<void> {
  if (!otherUser) return;
  await chown(path, -1, user.gid);
  await chmod(path, 0o710);
}

/** Lets commands of `user` write to a file or directory that the gateway has just made in the workspace. */
export async function shareHandle(
  handle: FileHandle,
  otherUser: boolean,
  user: CommandUser = COMMAND_USER,
): Promise<void> {
  if (!otherUser) return;
  const { mode, gid } = await handle.stat();
  if (isRoot()) await handle.chown(user.uid, user.gid);
  else if (gid !== user.gid) await handle.chown(-1, user.gid);
  await handle.chmod((mode & 0o7777) | 0o660);
}
