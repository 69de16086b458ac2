import type { limitedCommand, PreparedCommand } from '../limits/command-limits.ts';
import type { CommandLine, CommandMonitor } from '../process/run-command.ts';
import { bubblewrapArgs } from './bubblewrap.ts';
import { COMMAND_USER } from './command-user.ts';
import type { ConfinementMethod, Reach } from './confinement.ts';
import { dropUserRestricted } from './landlock.ts';
import { asUser, createMarks } from './uid-drop.ts';

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
    const prepared = set?.(program, given) ?? { script: '', command: program, args: given };
    const user = reach.user ?? COMMAND_USER;
    if (how.method === 'uid') {
      const markGid = how.marked && use === 'command' ? nextMark() : undefined;
      if (!how.restricts) return dropUser(programs.setpriv, prepared, { user, markGid });
      const { command, args } = lineOf(prepared);
      return dropUserRestricted(programs.landlock, command, args, { reach, readable, user, markGid });
    }
    if (how.method !== 'bubblewrap') return lineOf(prepared);
    const { closesNesting = false } = how;
    const ownNetwork = use !== 'server' && options.network === 'none';
    const outer = bubblewrapArgs({ reach, readable, asRoot: asRoot(), closesNesting, ownNetwork });
    const inner = asRoot() ? dropUser(programs.setpriv, prepared, { user }) : lineOf(prepared);
    return { command: programs.bwrap, args: [...outer, '--', inner.command, ...inner.args] };
  };
  return (command: string, args: readonly string[], reach: Reach, use: Use): CommandLine => {
    const line = confined(command, args, reach, use);
    return monitor === undefined ? line : { ...line, monitor };
  };
}

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
