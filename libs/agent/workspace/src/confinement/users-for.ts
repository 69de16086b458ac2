import { join } from 'node:path';
import { runCommand } from '../process/run-command.ts';
import { firstLine } from '../process/system-error.ts';
import { type CommandUsers, openCommandUsers } from './command-users.ts';
import type { Confinement } from './confinement.ts';
import { type AsUserOptions, cannotList } from './end-user.ts';
import { joinGroup, leaveGroup } from './gateway-groups.ts';
import { defaultUsers, isMapped, type UserRange } from './user-range.ts';

const PROBE_MS = 10_000;

/** Opens the users of the contexts below `root`, or resolves with the reason why there are none; runs a command as one. */
export async function usersFor(
  confinement: Pick<Confinement, 'wrap'>,
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
    const line = confinement.wrap('/bin/sh', ['-c', 'id -u'], { writable: [], readOnly: [], user });
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
