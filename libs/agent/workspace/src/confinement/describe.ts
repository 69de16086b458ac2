import type { CommandGroups } from '../limits/command-groups.ts';
import { COMMAND_UID } from './command-user.ts';
import type { ConfinementMethod } from './confinement.ts';
import type { LandlockProbe } from './landlock.ts';
import type { SystemCallFilter } from './seccomp/filter.ts';
import type { CommandNetwork } from './wrapper.ts';

/** How the commands of a profile are confined, as found out at start. */
export interface Found {
  readonly method: ConfinementMethod;
  readonly asRoot: boolean;
  readonly network: CommandNetwork;
  readonly filter: SystemCallFilter;
  /** Only with the method `uid`. */
  readonly landlock?: LandlockProbe | undefined;
  /** Why contexts cannot have users of their own; undefined when they can. */
  readonly withoutUsers?: string | undefined;
  /** Control groups of commands; undefined without limits. */
  readonly groups?: CommandGroups | undefined;
}

/** What commands are kept from, and why they are not here, if so. */
type Protection = readonly [what: string, off: string | undefined];

/** From this ABI on, Landlock restricts signals and abstract sockets. */
const LANDLOCK_SCOPES = 6;

/** One line for the start-up log, `/ready` and `fleet doctor`: the method, and which protections are on here (SECURITY.md#limits). */
export function describe(found: Found): string {
  const { landlock } = found;
  const method = landlock && 'abi' in landlock ? `uid with Landlock ${landlock.abi}` : found.method;
  const user = found.method === 'uid' || found.asRoot ? 'another user' : 'this user';
  const protections = found.method === 'uid' ? byUser(found) : byBubblewrap(found);
  if (found.groups) protections.push(['memory groups', found.groups.missing]);
  const on = protections.filter(([, off]) => off === undefined).map(([what]) => what);
  const off = protections.flatMap(([what, why]) => (why === undefined ? [] : `${what} (${why})`));
  return `shell commands run confined by ${method}, as ${user}; on: ${on.join(', ')}; off: ${off.join(', ') || 'nothing'}`;
}

function byBubblewrap({ filter, network }: Found): Protection[] {
  const shared = network === 'full' ? 'commands have the network of the machine' : undefined;
  return [
    ['files', undefined],
    ['command lines', undefined],
    ['signals', undefined],
    ['temporary files', undefined],
    ['system calls', 'missing' in filter ? filter.missing : undefined],
    ['oom_score_adj', undefined],
    ['abstract sockets', shared],
    ['network', shared],
  ];
}

function byUser({ filter, landlock, withoutUsers }: Found): Protection[] {
  const abi = landlock && 'abi' in landlock ? landlock.abi : 0;
  const missing = landlock && 'missing' in landlock ? landlock.missing : 'not tried';
  const unscoped = abi >= LANDLOCK_SCOPES ? undefined : `Landlock ${LANDLOCK_SCOPES} is missing`;
  const unfiltered =
    landlock && 'missing' in landlock && !landlock.filters ? 'the helper is missing' : undefined;
  return [
    ['files', abi > 0 ? undefined : `what is open to all users, without Landlock: ${missing}`],
    ['users of contexts', withoutUsers && `all run as user ${COMMAND_UID}: ${withoutUsers}`],
    ['command lines', 'without bubblewrap, /proc shows all'],
    // Users alone keep contexts from each other's processes.
    ['signals', withoutUsers && unscoped],
    ['temporary files', 'without bubblewrap, all share /tmp and /dev/shm'],
    ['system calls', 'missing' in filter ? filter.missing : unfiltered],
    ['oom_score_adj', abi > 0 ? undefined : 'without Landlock, a command can change its own'],
    ['abstract sockets', unscoped],
    ['network', 'without bubblewrap, commands have that of the gateway'],
  ];
}
