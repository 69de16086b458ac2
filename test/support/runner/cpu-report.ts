import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Is loaded into a test process before its test file (`--import`). At exit it writes the CPU seconds of the process and of
 * its children that ended before it to the file that CPU_REPORT names.
 */
const { CPU_REPORT: report } = process.env;
// What the test file starts must not report in its place.
delete process.env.CPU_REPORT;

/** Clock ticks a second in /proc/self/stat: Linux tells every program 100, whatever the kernel counts in. */
const TICKS_PER_S = 100;

/** CPU seconds of this process and of its ended children; without /proc, of this process alone. */
function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // The name of the program stands in parentheses and may hold blanks. Behind it, utime, stime, cutime and cstime are
    // the fields 14 to 17 of proc(5), and the state is the third.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_S;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  }
}

if (report !== undefined) process.on('exit', () => writeFileSync(report, String(cpuSeconds())));
