import type { FileResult } from './run-file.ts';

const SLOWEST = 20;

/** The closing lines of a run: its slowest files, every failed test, and one line of counts. */
export function closingLines(results: readonly FileResult[]): string[] {
  const sum = (count: (result: FileResult) => number): number =>
    results.reduce((total, result) => total + count(result), 0);
  const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  const failures = results.flatMap(({ file, failures }) => failures.map((name) => `  ${file}: ${name}`));
  return [
    'slowest files:',
    ...slowest.map(({ file, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${file}`),
    ...(failures.length > 0 ? ['failed tests:', ...failures] : []),
    `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed, ${sum(({ skipped }) => skipped)} skipped`,
  ];
}
