import type { NextGroup } from '../limits/command-groups.ts';
import { type limitedCommand, preferCommands } from '../limits/command-limits.ts';
import type { CommandLine, CommandMonitor } from '../process/run-command.ts';
import { bubblewrapArgs } from './bubblewrap.ts';
import { COMMAND_USER, isRoot } from './command-user.ts';
import type { ConfinementMethod, Reach } from './confinement.ts';
import { dropUserRestricted } from './landlock.ts';
import type { SystemCallFilter } from './seccomp/filter.ts';
import { asUser, createMarks } from './uid-drop.ts';

/** How commands are confined. */
export interface How {
  readonly method: ConfinementMethod;
  /** Each command gets a group that marks its processes. */
  readonly marked?: boolean;
  /** The helper runs the command: it applies the filter of system calls, and Landlock where the kernel has it. */
  readonly helper?: 'filters' | 'restricts' | undefined;
}

/** Paths of the confining programs. */
export interface Programs {
  readonly bwrap: string;
  readonly setpriv: string;
  readonly landlock: string;
  readonly prlimit?: string | undefined;
}

type Limited = ReturnType<typeof limitedCommand> | undefined;

/** A command of a task, a server that all tasks share, or an instance that only measures a server of tasks. */
export type Use = 'command' | 'server' | 'probe';

/**
 * The network that commands and servers of tasks reach. `none` and `allow` give them a network namespace of their own, which only
 * bubblewrap makes. With `allow`, those with a `ProxiedCommand` reach its proxy.
 */
export type CommandNetwork = 'full' | 'none' | 'allow';

/** Returns a function that confines a command line. */
export function createWrapper(
  how: How,
  options: {
    readonly readable: readonly string[];
    readonly programs: Programs;
    readonly network: CommandNetwork;
    readonly filter: SystemCallFilter;
    readonly monitor: CommandMonitor | undefined;
    /** A control group for each command; undefined where there can be none. */
    readonly nextGroup: NextGroup | undefined;
    /** Sets the limits of a command, and of an MCP server. */
    readonly command: Limited;
    readonly server: Limited;
  },
) {
  const { readable, programs, monitor } = options;
  const filter = 'file' in options.filter ? options.filter.file : undefined;
  const nextMark = createMarks(process.pid);
  const first = options.command === undefined ? '' : preferCommands();
  const confined = (program: string, given: readonly string[], reach: Reach, use: Use): CommandLine => {
    const set = use === 'command' ? options.command : options.server;
    const limited = set?.(program, given) ?? { command: program, args: given };
    const user = reach.user ?? COMMAND_USER;
    if (how.method === 'uid') {
      const markGid = how.marked && use === 'command' ? nextMark() : undefined;
      if (how.helper === undefined) return dropUser(programs.setpriv, limited, { user, markGid });
      const paths = how.helper === 'restricts' ? { reach, readable } : undefined;
      const { command, args } = limited;
      return dropUserRestricted(programs.landlock, command, args, { paths, filter, user, markGid });
    }
    if (how.method !== 'bubblewrap') return limited;
    const network = use === 'server' ? 'full' : options.network;
    const outer = bubblewrapArgs({ reach, readable, asRoot: isRoot(), ownNetwork: network !== 'full' });
    const inner = isRoot() ? dropUser(programs.setpriv, limited, { user }) : limited;
    const filtered = filter === undefined ? [] : ['--seccomp', String(FILTER)];
    return { command: programs.bwrap, args: [...filtered, ...outer, '--', inner.command, ...inner.args] };
  };
  /** Has the shell enter a control group and lower its score before the command, and open the filter for bubblewrap. */
  const entered = (line: CommandLine): CommandLine => {
    const group = options.nextGroup?.();
    const opened = how.method === 'bubblewrap' ? filter : undefined;
    if (first === '' && opened === undefined && group === undefined) return line;
    const exec = `exec "$@"${opened === undefined ? '' : ` ${FILTER}<"$0"`}`;
    const run = [group && ENTER, first, exec].filter(Boolean).join('; ');
    const args = ['-c', run, opened ?? 'sh', ...(group ? [group.dir] : []), line.command, ...line.args];
    return { ...line, command: '/bin/sh', args, ...(group && { group: group.open }) };
  };
  return (command: string, args: readonly string[], reach: Reach, use: Use): CommandLine => {
    if (how.method === 'none') return { command, args, ...(monitor && { monitor }) };
    const line = entered(confined(command, args, reach, use));
    return monitor === undefined ? line : { ...line, monitor };
  };
}

/** The descriptor by which bubblewrap gets the filter. It reads it to its end, so each command needs the file opened anew. */
const FILTER = 9;

/** Enters the control group `$1`, if it could be made. */
const ENTER = '[ ! -d "$1" ] || echo 0 > "$1/cgroup.procs"; shift';

const dropUser = (
  setpriv: string,
  { command, args }: CommandLine,
  as: Parameters<typeof asUser>[3],
): CommandLine => asUser(setpriv, 'exec "$@"', [command, ...args], as);
