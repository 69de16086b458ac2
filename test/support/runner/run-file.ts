import { measuredRun, printed } from './measured-run.ts';

export interface FileResult {
  readonly file: string;
  readonly seconds: number;
  /** CPU seconds of its process and of what that started; undefined if the process was killed. */
  readonly cpuS: number | undefined;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** The full names of the failed tests: those of the tests around one come first. */
  readonly failures: readonly string[];
  /** The output of the spec reporter. */
  readonly output: string;
}

/** A file that takes longer hangs. */
export const GIVE_UP_MS = 840_000;

export interface RunOptions {
  readonly giveUpMs?: number;
  /** Environment variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs one test file in a separate process. Resolves whatever the outcome. */
export async function runFile(
  root: string,
  file: string,
  { giveUpMs = GIVE_UP_MS, env = {} }: RunOptions = {},
): Promise<FileResult> {
  const startedAt = performance.now();
  const timeout = Math.min(giveUpMs, GIVE_UP_MS);
  using measured = measuredRun({
    files: [file],
    cwd: root,
    timeout,
    env: { ...process.env, ...env },
  });
  const { stream } = measured;
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const names: string[] = [];
  const failures: string[] = [];
  const nameOf = (name: string): string => (name.endsWith(file) ? 'the file itself' : name);
  stream.on('test:start', ({ name, nesting }) => {
    names.splice(nesting, Number.POSITIVE_INFINITY, nameOf(name));
  });
  stream.on('test:fail', ({ name, nesting, details, todo, skip }) => {
    const ofChildren = 'failureType' in details.error && details.error.failureType === 'subtestsFailed';
    if (todo || skip || (details.type === 'suite' && ofChildren)) return;
    failures.push([...names.slice(0, nesting), nameOf(name)].join(' > '));
  });
  stream.on('test:summary', ({ file: part, success, counts: { tests, passed, skipped, todo } }) => {
    if (part !== undefined) return;
    counts.passed = passed;
    counts.skipped = skipped + todo;
    counts.failed = Math.max(tests - passed - skipped - todo, success ? 0 : 1);
  });
  const { output, hangs } = await printed(stream, timeout);
  const seconds = (performance.now() - startedAt) / 1_000;
  if (hangs) counts.failed += 1;
  if (counts.failed > 0 && failures.length === 0)
    failures.push(hangs ? 'the file itself, or a process that it left, does not end' : 'the file itself');
  return { ...counts, file, seconds, cpuS: measured.cpuS(), failures, output };
}
