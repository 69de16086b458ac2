import { carriersOf } from '../process/kill-tree.ts';
import type { CommandLine } from '../process/run-command.ts';
import type { CommandUser } from './command-user.ts';

/** Far above any group id that a system assigns. */
const FIRST_MARK = 500_000_000;
const MARKS = 256;

/**
 * Makes group ids that mark the processes of one command. They differ between the gateway processes of a machine. A mark
 * that a long-running process still carries, as an MCP server of `scope: task` does, is not given again, unless all are
 * carried.
 */
export function createMarks(
  pid: number,
  isCarried: (mark: number) => boolean = (mark) => carriersOf({ gid: mark }).length > 0,
): () => number {
  let made = 0;
  const next = (): number => {
    made += 1;
    return FIRST_MARK + pid * MARKS + (made % MARKS);
  };
  return () => {
    let mark = next();
    for (let tries = 1; made > MARKS && tries < MARKS && isCarried(mark); tries += 1) mark = next();
    return mark;
  };
}

/**
 * Runs a shell script as another user, without capabilities. Files that it makes are open to its group, which the gateway
 * shares in containers. `markGid` becomes its only supplementary group, by which all its processes can be found.
 */
export function asUser(
  setpriv: string,
  script: string,
  args: readonly string[],
  { user, markGid }: { readonly user: CommandUser; readonly markGid?: number | undefined },
): CommandLine {
  const groups = markGid === undefined ? ['--clear-groups'] : ['--groups', String(markGid)];
  const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), ...groups];
  const rights = ['--inh-caps=-all', '--ambient-caps=-all', '--no-new-privs'];
  const shell = ['/bin/sh', '-c', `umask 0007; ${script}`, 'sh', ...args];
  const line = { command: setpriv, args: [...ids, ...rights, ...shell] };
  return markGid === undefined ? line : { ...line, markGid };
}
