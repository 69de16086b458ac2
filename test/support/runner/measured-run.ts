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
  /** CPU seconds of each file of a batch, from the start of its first test to the end of its last. */
  cpuOfFiles(): ReadonlyMap<string, number>;
}

/** Runs test files in a process of their own that reports its CPU time. */
export function measuredRun(options: NonNullable<Parameters<typeof run>[0]>): MeasuredRun {
  const folder = mkdtempSync(join(tmpdir(), 'test-cpu-'));
  const report = join(folder, 'cpu');
  const perFile = join(folder, 'files');
  return {
    stream: run({
      ...options,
      concurrency: 1,
      execArgv: ['--import', CPU_REPORT],
      env: { ...(options.env ?? process.env), CPU_REPORT: report, CPU_REPORT_OF_FILES: perFile },
    }),
    cpuS: () => {
      const text = textOf(report);
      return text === '' ? undefined : Number(text);
    },
    cpuOfFiles: () =>
      new Map(
        textOf(perFile)
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split('\t'))
          .map(([file = '', cpuS]) => [file, Number(cpuS)]),
      ),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The text of a report; empty where the process was killed before it could write it. */
function textOf(report: string): string {
  try {
    return readFileSync(report, 'utf8');
  } catch {
    return '';
  }
}
