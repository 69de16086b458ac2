import { COMMAND_UID } from './command-user.ts';
import type { ConfinementMethod } from './confinement.ts';
import type { LandlockProbe } from './landlock.ts';
import type { SystemCallFilter } from './seccomp/filter.ts';

/** How the commands of a profile are confined, as found out at start. */
export interface Found {
  readonly method: ConfinementMethod;
  readonly asRoot: boolean;
  readonly filter: SystemCallFilter;
  /** Only with the method `uid`. */
  readonly landlock?: LandlockProbe | undefined;
  /** Why contexts cannot have users of their own; undefined when they can. */
  readonly withoutUsers?: string | undefined;
}

/** One line for the start-up log, and what isolates less (SECURITY.md#limits). */
export function describe(found: Found): { note: string; less: string | undefined } {
  const { landlock } = found;
  const method = landlock && 'abi' in landlock ? `uid with Landlock ${landlock.abi}` : found.method;
  const user = found.method === 'uid' || found.asRoot ? 'another user' : 'this user';
  const less = found.method === 'uid' ? lessByUser(found) : lessByBubblewrap(found);
  const note = `shell commands run confined by ${method}, as ${user}`;
  return { note: less === undefined ? note : `${note}; ${less}`, less };
}

function lessByUser({ filter, landlock, withoutUsers }: Found): string {
  const less = [
    'without bubblewrap, commands see the command lines of all processes, and share /tmp and /dev/shm',
  ];
  if (landlock && 'missing' in landlock) {
    less.push(`without Landlock (${landlock.missing}), they can open every file that is open to all users`);
  }
  if ('missing' in filter) less.push(unfiltered(filter.missing));
  else if (landlock === undefined || ('missing' in landlock && !landlock.filters))
    less.push(unfiltered('it needs the helper'));
  if (withoutUsers !== undefined) {
    less.push(`the commands of all contexts run as user ${COMMAND_UID} (${withoutUsers})`);
  }
  return less.join('; ');
}

function lessByBubblewrap({ filter }: Found): string | undefined {
  return 'missing' in filter ? unfiltered(filter.missing) : undefined;
}

const unfiltered = (why: string): string =>
  `without a filter of system calls (${why}), commands can use keyrings and make user namespaces`;
