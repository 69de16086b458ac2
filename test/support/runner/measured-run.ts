import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { pathToFileURL } from 'node:url';

const CPU_REPORT = pathToFileURL(join(import.meta.dirname, 'cpu-report.ts')).href;

export interface MeasuredRun extends Disposable {
  readonly stream: ReturnType<typeof run>;
  /** CPU seconds of the test process and of what it started, once it has ended; undefined if it was killed. */
  cpuS(): number | undefined;
}

/** Runs test files in a process of their own that reports its CPU time. */
export function measuredRun(options: NonNullable<Parameters<typeof run>[0]>): MeasuredRun {
  const folder = mkdtempSync(join(tmpdir(), 'test-cpu-'));
  const report = join(folder, 'cpu');
  return {
    stream: run({
      ...options,
      concurrency: 1,
      execArgv: ['--import', CPU_REPORT],
      env: { ...process.env, CPU_REPORT: report },
    }),
    cpuS: () => {
      try {
        return Number(readFileSync(report, 'utf8'));
      } catch {
        // The process was killed before it could report.
        return undefined;
      }
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
