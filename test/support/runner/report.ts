import type { FileResult } from './run-file.ts';

const SLOWEST = 20;

/**
 * The closing lines of a run: its slowest files, those that did not run, every failed test, and one line of counts. A
 * file that did not run counts as one skipped test.
 */
export function closingLines(results: readonly FileResult[], notRun: readonly string[] = []): string[] {
  const sum = (count: (result: FileResult) => number): number =>
    results.reduce((total, result) => total + count(result), 0);
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const failures = results.flatMap(({ file, failures }) => failures.map((name) => `  ${file}: ${name}`));
  return [
    'slowest files:',
    ...slowest.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}`),
    ...(notRun.length > 0
      ? ['not run, because the time was over:', ...notRun.map((file) => `  ${file}`)]
      : []),
    ...(failures.length > 0 ? ['failed tests:', ...failures] : []),
    `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed, ${sum(({ skipped }) => skipped) + notRun.length} skipped`,
  ];
}
