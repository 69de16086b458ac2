import type { limitedCommand } from '../limits/command-limits.ts';
import type { CommandLine, CommandMonitor } from '../process/run-command.ts';
import { bubblewrapArgs } from './bubblewrap.ts';
import { COMMAND_USER } from './command-user.ts';
import type { ConfinementMethod, Reach } from './confinement.ts';
import { dropUserRestricted } from './landlock.ts';
import { createMarks, dropUser } from './uid-drop.ts';

/** How commands are confined. */
export interface How {
  readonly method: ConfinementMethod;
  /** Each command gets a group that marks its processes. */
  readonly marked?: boolean;
  readonly closesNesting?: boolean;
  /** Landlock restricts the command's files. */
  readonly restricts?: boolean;
}

/** Paths of the confining programs. */
export interface Programs {
  readonly bwrap: string;
  readonly setpriv: string;
  readonly landlock: string;
  readonly prlimit?: string | undefined;
}

type Limited = ReturnType<typeof limitedCommand> | undefined;

export const asRoot = (): boolean => process.getuid?.() === 0;

/** A command of a task, a server that all tasks share, or an instance that only measures a server of tasks. */
export type Use = 'command' | 'server' | 'probe';

/** Returns a function that confines a command line. */
export function createWrapper(
  how: How,
  options: {
    readonly readable: readonly string[];
    readonly programs: Programs;
    readonly network: 'full' | 'none';
    readonly monitor: CommandMonitor | undefined;
    /** Sets the limits of a command, and of an MCP server. */
    readonly command: Limited;
    readonly server: Limited;
  },
) {
  const { readable, programs, monitor } = options;
  const nextMark = createMarks(process.pid);
  const confined = (program: string, given: readonly string[], reach: Reach, use: Use): CommandLine => {
    if (how.method === 'none') return { command: program, args: given };
    const set = use === 'command' ? options.command : options.server;
    const { command, args } = set?.(program, given) ?? { command: program, args: given };
    const user = reach.user ?? COMMAND_USER;
    if (how.method === 'uid') {
      const markGid = how.marked && use === 'command' ? nextMark() : undefined;
      return how.restricts
        ? dropUserRestricted(programs.landlock, command, args, { reach, readable, user, markGid })
        : dropUser(programs.setpriv, command, args, { user, markGid });
    }
    if (how.method !== 'bubblewrap') return { command, args };
    const { closesNesting = false } = how;
    const ownNetwork = use !== 'server' && options.network === 'none';
    const outer = bubblewrapArgs({ reach, readable, asRoot: asRoot(), closesNesting, ownNetwork });
    const inner = asRoot() ? dropUser(programs.setpriv, command, args, { user }) : { command, args };
    return { command: programs.bwrap, args: [...outer, '--', inner.command, ...inner.args] };
  };
  return (command: string, args: readonly string[], reach: Reach, use: Use): CommandLine => {
    const line = confined(command, args, reach, use);
    return monitor !== undefined && use === 'command' ? { ...line, monitor } : line;
  };
}
