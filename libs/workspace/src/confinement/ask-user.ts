import type { Asked } from '../limits/memory-watch.ts';
import { type AsUserOptions, runAs } from './end-user.ts';

const ASK_MS = 2000;

/**
 * Prints the processes that have most in memory files, in KiB: files that several have count in parts. Prints `more` for those
 * to which descriptors are on their way through a socket.
 */
const HELD = String.raw`find /proc/[0-9]*/fd -maxdepth 1 -lname '/memfd:*' -exec stat -L -c '%n %d:%i %b' {} + 2> /dev/null |
  awk -F '[/ ]' '!(($3, $6) in pid) { pid[$3, $6] = $3; file[$3, $6] = $6; blocks[$6] = $7; holders[$6] += 1 }
    END { for (i in pid) held[pid[i]] += blocks[file[i]] / holders[file[i]]; for (p in held) print p, int(held[p] / 2) }' |
  sort -k 2 -n -r | head -n 100
find /proc/[0-9]*/fdinfo -maxdepth 1 -type f -exec grep -lsE '^scm_fds:[[:space:]]*[1-9]' {} + 2> /dev/null |
  sed 's#^/proc/\([0-9]*\)/.*#\1 more#' | sort -u | head -n 100`;

/**
 * Returns a function that asks a user what memory files its processes have open: a command of the gateway's finds it out as
 * that user, because a gateway without the right to may not look. What its own processes have open, a gateway sees itself.
 * A process may hold more (Infinity) when descriptors are on their way to it, and each may when the answer takes more than
 * 2 s. Any other failure is no answer. Both are logged.
 */
export function askUser(options: AsUserOptions): (uid: number) => Promise<Asked | undefined> {
  return async (uid) => {
    if (uid === process.getuid?.()) return () => 0;
    try {
      const answer = await runAs({ uid, gid: uid }, HELD, [], { ...options, timeoutMs: ASK_MS });
      const lines = answer.stdout.split('\n').filter(Boolean);
      const rows = lines.map((line) => line.split(' '));
      const held = new Map(
        rows.map(([pid, kib]) => [Number(pid), kib === 'more' ? Number.POSITIVE_INFINITY : Number(kib)]),
      );
      if (answer.exitCode === 0) return (pid) => held.get(pid) ?? 0;
      options.log.warn({ uid, ...answer }, 'the memory files of a user cannot be found out');
      return answer.killed === 'timeout' ? () => Number.POSITIVE_INFINITY : undefined;
    } catch (error) {
      options.log.warn({ uid, error: String(error) }, 'the memory files of a user cannot be found out');
      return undefined;
    }
  };
}
