import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';

const CPU_REPORT = pathToFileURL(join(import.meta.dirname, 'cpu-report.ts')).href;

export interface MeasuredRun extends Disposable {
  readonly stream: ReturnType<typeof run>;
  /** CPU seconds of the test process and of what it started, once it has ended; undefined if it was killed. */
  cpuS(): number | undefined;
  /** CPU seconds of each file of a batch, from the start of its first test to the end of its last. */
  cpuOfFiles(): ReadonlyMap<string, number>;
}

/** Runs test files in a process of their own that reports its CPU time, and ends with this object. */
export function measuredRun(options: NonNullable<Parameters<typeof run>[0]>): MeasuredRun {
  const folder = mkdtempSync(join(tmpdir(), 'test-cpu-'));
  const report = join(folder, 'cpu');
  const perFile = join(folder, 'files');
  const disposed = new AbortController();
  return {
    stream: run({
      ...options,
      signal: AbortSignal.any([disposed.signal, ...(options.signal ? [options.signal] : [])]),
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
    [Symbol.dispose]: () => {
      disposed.abort();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A process that is told to end has this long to do so. */
const END_MS = 5_000;

/**
 * The output of a run, by the spec reporter. `hangs`: it did not end within this time and 5 s more, as when a process that a test
 * left behind holds the pipe open.
 */
export async function printed(
  stream: MeasuredRun['stream'],
  giveUpMs: number,
): Promise<{ readonly output: string; readonly hangs: boolean }> {
  const reported = Readable.from(withoutCounts(stream)).compose(new spec());
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), giveUpMs + END_MS);
  const chunks = reported[Symbol.asyncIterator]();
  let output = '';
  try {
    for (;;) {
      const next = await Promise.race([chunks.next(), late]);
      if (next === undefined) return { output, hangs: true };
      if (next.done) return { output, hangs: false };
      output += next.value;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The runner's own count of one process; this project counts over all files. */
const COUNT = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

interface Reported {
  readonly type: string;
  readonly data: { readonly message?: string };
}

/** Leaves the runner's own counts out. */
async function* withoutCounts(events: AsyncIterable<Reported>): AsyncGenerator<Reported> {
  for await (const event of events)
    if (event.type !== 'test:diagnostic' || !COUNT.test(event.data.message ?? '')) yield event;
}

/** The text of a report; empty where the process was killed before it could write it. */
function textOf(report: string): string {
  try {
    return readFileSync(report, 'utf8');
  } catch {
    return '';
  }
}
