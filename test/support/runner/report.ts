import type { FileResult } from './run-file.ts';

const NAMED = 20;

/** What a run came to, beside the results of its files. */
export interface Closing {
  /** Files that were not begun, because the time was over: each counts as a skipped test. */
  readonly notRun?: readonly string[];
  /** Files that this run left out, because the record vouches for them. */
  readonly leftOut?: readonly string[];
  /** Limits of CPU time that were passed: each counts as a failed test. */
  readonly overLimits?: readonly string[];
}

/**
 * The closing lines of a run: its most expensive files, the CPU time of all, the files that did not run, every failed test, and one
 * line of counts.
 */
export function closingLines(
  results: readonly FileResult[],
  { notRun = [], leftOut = [], overLimits = [] }: Closing = {},
): string[] {
  const sum = (count: (result: FileResult) => number): number =>
    results.reduce((total, result) => total + count(result), 0);
  const cpu = ({ cpuS = 0 }: FileResult): number => cpuS;
  const expensive = results.toSorted((a, b) => cpu(b) - cpu(a)).slice(0, NAMED);
  const failures = results.flatMap(({ file, failures }) => failures.map((name) => `  ${file}: ${name}`));
  const list = (title: string, lines: readonly string[]): string[] =>
    lines.length > 0 ? [title, ...lines] : [];
  return [
    'the files that used most CPU time:',
    ...expensive.map(
      (result) => `  ${inSeconds(cpu(result))} CPU s in ${inSeconds(result.seconds)} s  ${result.file}`,
    ),
    ...list(
      'left out, because they passed when test/suite.json was written and reach nothing that changed:',
      leftOut.map((file) => `  ${file}`),
    ),
    ...list(
      'not run, because the time was over:',
      notRun.map((file) => `  ${file}`),
    ),
    ...list('failed tests:', [...failures, ...overLimits.map((line) => `  ${line}`)]),
    `${results.length} files used ${sum(cpu).toFixed(0)} CPU seconds`,
    `${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed) + overLimits.length} failed, ` +
      `${sum(({ skipped }) => skipped) + notRun.length} skipped`,
  ];
}

const inSeconds = (seconds: number): string => seconds.toFixed(1).padStart(6);
