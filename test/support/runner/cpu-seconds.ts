import { readFileSync } from 'node:fs';

/** Clock ticks a second in /proc: Linux tells every program 100, whatever the kernel counts in. */
const TICKS_PER_S = 100;

/**
 * CPU seconds of this process, and of its children that it has waited for, with theirs. Children that outlive it, and
 * processes that were detached from them, are not in it; where there is no /proc, no children are.
 */
export function cpuSeconds(): { readonly own: number; readonly children: number } {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // The name of the program stands in parentheses and may hold blanks. Behind it, the state is the third field of proc(5),
    // and utime, stime, cutime and cstime are the fields 14 to 17.
    const [user = 0, system = 0, childrenUser = 0, childrenSystem = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map((ticks) => Number(ticks) / TICKS_PER_S);
    return { own: user + system, children: childrenUser + childrenSystem };
  } catch {
    const { user, system } = process.cpuUsage();
    return { own: (user + system) / 1_000_000, children: 0 };
  }
}
