import { COMMAND_UID } from './command-user.ts';
import type { ConfinementMethod } from './confinement.ts';
import type { LandlockProbe } from './landlock.ts';

/** How the commands of a profile are confined, as found out at start. */
export interface Found {
  readonly method: ConfinementMethod;
  readonly asRoot: boolean;
  /** bubblewrap closes nested user namespaces. */
  readonly closesNesting?: boolean | undefined;
  /** Only with the method `uid`. */
  readonly landlock?: LandlockProbe | undefined;
  /** Why contexts cannot have users of their own; undefined when they can. */
  readonly withoutUsers?: string | undefined;
}

/** One line for the start-up log, and what bubblewrap as a plain user would close (SECURITY.md#limits). */
export function describe(found: Found): { note: string; less: string | undefined } {
  const { landlock } = found;
  const method = landlock && 'abi' in landlock ? `uid with Landlock ${landlock.abi}` : found.method;
  const user = found.method === 'uid' || found.asRoot ? 'another user' : 'this user';
  const less = found.method === 'uid' ? lessByUser(found) : lessByBubblewrap(found);
  const note = `shell commands run confined by ${method}, as ${user}`;
  return { note: less === undefined ? note : `${note}; ${less}`, less };
}

function lessByUser({ landlock, withoutUsers }: Found): string {
  const less = [
    'without bubblewrap, commands see the command lines of all processes, and share /tmp and /dev/shm',
  ];
  if (landlock && 'missing' in landlock) {
    less.push(`without Landlock (${landlock.missing}), they can open every file that is open to all users`);
  }
  if (withoutUsers !== undefined) {
    less.push(`the commands of all contexts run as user ${COMMAND_UID} (${withoutUsers})`);
  }
  return less.join('; ');
}

function lessByBubblewrap({ asRoot, closesNesting }: Found): string | undefined {
  if (closesNesting) return undefined;
  return `commands can make user namespaces (${asRoot ? 'the gateway runs as root' : 'bubblewrap is older than 0.8'})`;
}
