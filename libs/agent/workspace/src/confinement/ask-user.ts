import type { Asked } from '../limits/memory-watch.ts';
import { type AsUserOptions, runAs } from './end-user.ts';

const ASK_MS = 2000;

/**
 * Prints the processes that have most in memory files, in KiB: files that several have count in parts. Prints `more` for those
 * to which descriptors are on their way through a socket, and `end` after all of it, unless a program of it was killed: each
 * file that `find` found must have been looked at. That a process ends meanwhile is no matter.
 */
const HELD = String.raw`for dir in /proc/[0-9]*/fd; do [ -O "$dir" ] && set -- "$@" "$dir"; done
{
  find "$@" -ignore_readdir_race -maxdepth 1 -lname '/memfd:*' -printf 'found\n' \
    -exec sh -c 'stat -L -c "%n %d:%i %b" "$@"; [ $? -lt 126 ] && echo "looked $#"' sh {} +
  echo "status $?"
  for dir; do shift; set -- "$@" "$dir"info; done
  find "$@" -ignore_readdir_race -maxdepth 1 -type f -printf 'found\n' \
    -exec sh -c 'grep -lsE "^scm_fds:[[:space:]]*[1-9]" "$@"; [ $? -lt 126 ] && echo "looked $#"' sh {} +
  echo "status $?"
} 2> /dev/null | awk -F '[/ ]' '
  $1 == "found" { left += 1; next }
  $1 == "looked" { left -= $2; next }
  $1 == "status" { done += ($2 < 126); next }
  $4 == "fdinfo" { more[$3] = 1; next }
  !(($3, $6) in pid) { pid[$3, $6] = $3; file[$3, $6] = $6; blocks[$6] = $7; holders[$6] += 1 }
  END {
    for (i in pid) held[pid[i]] += blocks[file[i]] / holders[file[i]]
    for (rows = 0; rows < 100; rows += 1) {
      most = ""
      for (p in held) if (most == "" || held[p] > held[most]) most = p
      if (most == "") break
      print most, int(held[most] / 2)
      delete held[most]
    }
    rows = 0
    for (p in more) if (rows++ < 100) print p, "more"
    if (done == 2 && left == 0) print "end"
  }'`;

/**
 * Returns a function that asks a user what memory files its processes have open: a command of the gateway's finds it out as
 * that user, because a gateway without the right to may not look. What its own processes have open, a gateway sees itself.
 * A process may hold more (Infinity) when descriptors are on their way to it, and each may when there is no whole answer
 * within 2 s: the user itself can kill and stop what asks it. That is logged.
 */
export function askUser(options: AsUserOptions): (uid: number) => Promise<Asked> {
  return async (uid) => {
    if (uid === process.getuid?.()) return () => 0;
    const unknown = (found: Record<string, unknown>): Asked => {
      options.log.warn({ uid, ...found }, 'the memory files of a user cannot be found out');
      return () => Number.POSITIVE_INFINITY;
    };
    try {
      const answer = await runAs({ uid, gid: uid }, HELD, [], { ...options, timeoutMs: ASK_MS });
      const lines = answer.stdout.split('\n').filter(Boolean);
      if (answer.exitCode !== 0 || answer.killed !== undefined || lines.pop() !== 'end')
        return unknown({ ...answer });
      const rows = lines.map((line) => line.split(' '));
      const held = new Map(
        rows.map(([pid, kib]) => [Number(pid), kib === 'more' ? Number.POSITIVE_INFINITY : Number(kib)]),
      );
      return (pid) => held.get(pid) ?? 0;
    } catch (error) {
      return unknown({ error: String(error) });
    }
  };
}
