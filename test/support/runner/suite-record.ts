import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { FileResult } from './run-file.ts';

const SuiteRecord = z.object({
  /** The commit that the tests ran on. */
  commit: z.string(),
  /** CPU seconds of all files together. */
  cpu_s: z.number(),
  /** CPU seconds by test file. A file that is not listed has not passed on that commit. */
  files: z.record(z.string(), z.number()),
  /** Files of which some tests were skipped: that they passed says nothing about those. */
  with_skipped: z.array(z.string()),
});

/** The files that passed when all tests ran last, and what each of them cost. */
export type SuiteRecord = z.infer<typeof SuiteRecord>;

const NONE: SuiteRecord = { commit: '', cpu_s: 0, files: {}, with_skipped: [] };

/** The record, which `make test-all` writes and which is committed; relative to the root of the repository. */
export const RECORD = 'test/suite.json';

/** Reads the record; an empty one if there is none. Throws if the file is damaged. */
export function readRecord(root: string): SuiteRecord {
  let text: string;
  try {
    text = readFileSync(join(root, RECORD), 'utf8');
  } catch {
    return NONE;
  }
  return SuiteRecord.parse(JSON.parse(text));
}

/**
 * The record after a run on a commit: files that passed are listed with their cost, files that failed, were skipped whole or
 * did not run are not, and files outside of the run keep what the record says. Costs are divided by the scale of the machine.
 */
export function renewRecord(
  record: SuiteRecord,
  run: {
    readonly commit: string;
    readonly scale: number;
    readonly results: readonly FileResult[];
    readonly notRun: readonly string[];
    /** All test files that there are. */
    readonly existing: readonly string[];
  },
): SuiteRecord {
  const left = new Set([...run.notRun, ...run.results.map(({ file }) => file)]);
  const passed = run.results
    .filter(({ passed, failed, cpuS }) => passed > 0 && failed === 0 && cpuS !== undefined)
    .map(({ file, cpuS = 0 }) => [file, inTenths(cpuS / run.scale)] as const);
  const isKept = (file: string): boolean => run.existing.includes(file) && !left.has(file);
  const kept = Object.entries(record.files).filter(([file]) => isKept(file));
  const skipped = run.results.filter((result) => result.skipped > 0).map(({ file }) => file);
  const files = [...kept, ...passed].sort(([a], [b]) => (a < b ? -1 : 1));
  const sum = files.reduce((total, [, cpuS]) => total + cpuS, 0);
  return {
    commit: run.commit,
    cpu_s: Math.round(sum),
    files: Object.fromEntries(files),
    with_skipped: [...record.with_skipped.filter(isKept), ...skipped].sort(),
  };
}

export function writeRecord(root: string, record: SuiteRecord): void {
  writeFileSync(join(root, RECORD), `${JSON.stringify(record, null, 2)}\n`);
}

/** The last commit if the working tree is exactly that, apart from the record itself; else undefined. */
export function cleanCommit(root: string): string | undefined {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const differs = git('status', '--porcelain', '--', '.', `:!${RECORD}`);
  return differs === '' ? git('rev-parse', 'HEAD') : undefined;
}

const inTenths = (value: number): number => Math.round(value * 10) / 10;
