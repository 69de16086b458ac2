import { chmod, chown, type FileHandle, mkdir, stat } from 'node:fs/promises';
import type { CommandLine } from '../process/run-command.ts';

export type ConfinementMethod = 'bubblewrap' | 'uid' | 'unconfined' | 'none';

/** What a confined command may reach beside the system's read-only directories. Absolute paths that exist. */
export interface Reach {
  readonly writable: readonly string[];
  /** Inside a writable path: stays as it is. */
  readonly readOnly: readonly string[];
}

/** How commands are kept away from the gateway's tokens, ledger and environment (design 3, Confinement). */
export interface Confinement {
  /** `none`: nothing on this machine confines, so the agent's commands are not run at all. */
  readonly method: ConfinementMethod;
  /** One line for the start-up log: what confines, or how to get it. */
  readonly note: string;
  /** A command line that runs confined to `reach`. With `none` and `unconfined` it is the command itself. */
  wrap(command: string, args: readonly string[], reach: Reach): CommandLine;
  /** Confined to the whole workspace: for stdio MCP servers. */
  launch(command: string, args: string[]): { command: string; args: string[] };
  /** Whether commands run as another user, so that what the gateway makes must be shared with them. */
  readonly otherUser: boolean;
}

/** The user and group that commands run as where the gateway may change users. */
export const COMMAND_UID = 1001;
export const COMMAND_GID = 1001;

const isRoot = (): boolean => process.getuid?.() === 0;

/** Makes a directory that commands may write to, under a parent that they may not. */
export async function makeSharedDirectory(path: string, otherUser: boolean): Promise<void> {
  await mkdir(path, { recursive: true });
  if (!otherUser) return;
  const { uid, gid } = await stat(path);
  if (isRoot()) await chown(path, COMMAND_UID, COMMAND_GID);
  else if (uid === process.getuid?.() && gid !== COMMAND_GID) await chown(path, -1, COMMAND_GID);
  if (isRoot() || uid === process.getuid?.()) await chmod(path, 0o2770);
}

/** Lets commands write to a file or directory that the gateway has just made in the workspace. */
export async function shareHandle(handle: FileHandle, otherUser: boolean): Promise<void> {
  if (!otherUser) return;
  const { mode } = await handle.stat();
  if (isRoot()) await handle.chown(COMMAND_UID, COMMAND_GID);
  await handle.chmod((mode & 0o7777) | 0o660);
}
