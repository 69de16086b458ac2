import type { limitedCommand, PreparedCommand } from '../limits/command-limits.ts';
import type { CommandLine, CommandMonitor } from '../process/run-command.ts';
import { bubblewrapArgs } from './bubblewrap.ts';
import { COMMAND_USER } from './command-user.ts';
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

export const asRoot = (): boolean => process.getuid?.() === 0;

/** A command of a task, a server that all tasks share, or an instance that only measures a server of tasks. */
export type Use = 'command' | 'server' | 'probe';

/**
 * What commands, and servers of tasks, reach: `none` and a folder give them a network namespace of their own, which only
 * bubblewrap makes. The folder is shown to them, see `ProxiedCommand`.
 */
export type CommandNetwork = 'full' | 'none' | { readonly folder: string };

/** Returns a function that confines a command line. */
export function createWrapper(
  how: How,
  options: {
    readonly readable: readonly string[];
    readonly programs: Programs;
    readonly network: CommandNetwork;
    readonly filter: SystemCallFilter;
    readonly monitor: CommandMonitor | undefined;
    /** Sets the limits of a command, and of an MCP server. */
    readonly command: Limited;
    readonly server: Limited;
  },
) {
  const { readable, programs, monitor } = options;
  const filter = 'file' in options.filter ? options.filter.file : undefined;
  const nextMark = createMarks(process.pid);
  const confined = (program: string, given: readonly string[], reach: Reach, use: Use): CommandLine => {
    if (how.method === 'none') return { command: program, args: given };
    const set = use === 'command' ? options.command : options.server;
    const prepared = set?.(program, given) ?? { script: '', command: program, args: given };
    const user = reach.user ?? COMMAND_USER;
    if (how.method === 'uid') {
      const markGid = how.marked && use === 'command' ? nextMark() : undefined;
      if (how.helper === undefined) return dropUser(programs.setpriv, prepared, { user, markGid });
      const { command, args } = lineOf(prepared);
      const paths = how.helper === 'restricts' ? { reach, readable } : undefined;
      return dropUserRestricted(programs.landlock, command, args, { paths, filter, user, markGid });
    }
    if (how.method !== 'bubblewrap') return lineOf(prepared);
    const network = use === 'server' ? 'full' : options.network;
    const proxyFolder = typeof network === 'string' ? undefined : network.folder;
    const parts = { reach, readable, asRoot: asRoot(), proxyFolder };
    const outer = bubblewrapArgs({ ...parts, ownNetwork: network !== 'full' });
    const inner = asRoot() ? dropUser(programs.setpriv, prepared, { user }) : lineOf(prepared);
    const args = [...outer, '--', inner.command, ...inner.args];
    if (filter === undefined) return { command: programs.bwrap, args };
    return {
      command: '/bin/sh',
      args: ['-c', WITH_FILTER, filter, programs.bwrap, '--seccomp', '9', ...args],
    };
  };
  return (command: string, args: readonly string[], reach: Reach, use: Use): CommandLine => {
    const line = confined(command, args, reach, use);
    return monitor === undefined ? line : { ...line, monitor };
  };
}

/** bubblewrap reads the filter to its end and closes it, so that each command needs the file opened anew. */
const WITH_FILTER = 'exec "$@" 9<"$0"';

const run = (script: string): string => (script === '' ? 'exec "$@"' : `${script}; exec "$@"`);

const lineOf = ({ script, command, args }: PreparedCommand): CommandLine =>
  script === ''
    ? { command, args }
    : { command: '/bin/sh', args: ['-c', run(script), 'sh', command, ...args] };

const dropUser = (
  setpriv: string,
  { script, command, args }: PreparedCommand,
  as: Parameters<typeof asUser>[3],
): CommandLine => asUser(setpriv, run(script), [command, ...args], as);
