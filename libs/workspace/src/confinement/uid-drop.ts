import type { CommandLine } from '../process/run-command.ts';
import { COMMAND_GID, COMMAND_UID } from './confinement.ts';

/** Where marks start: far above any group that a system gives out. */
const FIRST_MARK = 500_000_000;
const MARKS = 256;

/** Group ids that mark the processes of one command, different in every gateway process of a machine. */
export function createMarks(pid: number): () => number {
  let next = 0;
  return () => {
    next = (next + 1) % MARKS;
    return FIRST_MARK + pid * MARKS + next;
  };
}

/**
 * The command as another user without any capability. Its files are open to its group, which the gateway shares in
 * containers. `markGid` becomes its only supplementary group, so that all its processes can be found again.
 */
export function dropUser(
  setpriv: string,
  command: string,
  args: readonly string[],
  markGid: number | undefined,
): CommandLine {
  const groups = markGid === undefined ? ['--clear-groups'] : ['--groups', String(markGid)];
  const user = ['--reuid', String(COMMAND_UID), '--regid', String(COMMAND_GID), ...groups];
  const rights = ['--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs'];
  const shell = ['/bin/sh', '-c', 'umask 0007; exec "$@"', 'sh', command, ...args];
  const line = { command: setpriv, args: [...user, ...rights, ...shell] };
  return markGid === undefined ? line : { ...line, markGid };
}
