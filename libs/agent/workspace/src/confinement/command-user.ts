/** A user with a group of the same number. */
export interface CommandUser {
  readonly uid: number;
  readonly gid: number;
}

/** Commands run as this user and group where the gateway may change users, unless `Reach.user` names another. */
export const COMMAND_UID = 1001;
export const COMMAND_GID = 1001;
export const COMMAND_USER: CommandUser = { uid: COMMAND_UID, gid: COMMAND_GID };

export const isRoot = (): boolean => process.getuid?.() === 0;
