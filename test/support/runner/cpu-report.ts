import { writeFileSync } from 'node:fs';
import { cpuSeconds } from './cpu-seconds.ts';

/**
 * Is loaded into a test process before its test file (`--import`). At exit it writes the CPU seconds of the process and of
 * its children that ended before it to the file that CPU_REPORT names.
 */
const { CPU_REPORT: report } = process.env;
// What the test file starts must not report in its place.
delete process.env.CPU_REPORT;

if (report !== undefined)
  process.on('exit', () => {
    const { own, children } = cpuSeconds();
    writeFileSync(report, String(own + children));
  });
