import { execFileSync } from 'node:child_process';
import { changedSince } from './changed.ts';
import type { SuiteRecord } from './suite-record.ts';

/** What changed since the record's commit; undefined if this clone does not have that commit. */
export function changedSinceRecord(root: string, { commit }: SuiteRecord): ReadonlySet<string> | undefined {
  try {
    return new Set(changedSince(root, commit));
  } catch {
    return undefined;
  }
}

export interface Due {
  /** Files that have not passed whole on the record's commit, or that reach what changed since. */
  readonly due: readonly string[];
  readonly others: readonly string[];
}

/** Parts test files into those that the record does not vouch for, and the others. */
export function partDue(
  files: readonly string[],
  record: SuiteRecord,
  changed: ReadonlySet<string> | undefined,
  reaches: (file: string, changed: ReadonlySet<string>) => boolean,
): Due {
  const isDue = (file: string): boolean =>
    changed === undefined ||
    !(file in record.files) ||
    record.with_skipped.includes(file) ||
    reaches(file, changed);
  const { due = [], others = [] } = Object.groupBy(files, (file) => (isDue(file) ? 'due' : 'others'));
  return { due, others };
}

const PARTS = 6;

/** One sixth of the files: another one at each of six commits in a row, as long as no file comes or goes. */
export function sixthOf(files: readonly string[], commits: number): string[] {
  return files.filter((_, at) => at % PARTS === commits % PARTS);
}

/** The number of commits up to the last one, which chooses the sixth. */
export const countCommits = (root: string): number =>
  Number(execFileSync('git', ['rev-list', '--count', 'HEAD'], { cwd: root, encoding: 'utf8' }));
