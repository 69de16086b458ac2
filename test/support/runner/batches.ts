import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALONE, type Costs, costOf } from './schedule.ts';
import { isUnitTest, packageOf } from './test-files.ts';

const LARGEST_BATCH = 12;
/** A file that shares a process costs less than this, in CPU seconds: when the batch does not pass, it runs again. */
const SMALL_BELOW_CPU_S = 3;

/**
 * Things that a test file in a shared process must not touch: the process itself, its globals, its memory, and the mocks
 * that outlive a test; and random cases, of fast-check or of a sweep, which could fail once and pass when the file runs
 * again. The helpers that tests import touch none of it, or give it back when the test ends.
 */
const OF_THE_PROCESS =
  /\bprocess\.(?!execPath\b|pid\b|getuid\b|hrtime\b|platform\b|arch\b|version)|\bglobalThis\b|\bmock\b|\bgc\(|\bfast-check\b|-sweep\.ts'|\btest\w*Crashes\(|\bnode:v8\b|\bimport\.meta\.main\b/;

/** Parts the files into those that share a process, a few small ones of one package each, and the others. */
export function planBatches(root: string, files: readonly string[], costs: Costs): string[][] {
  const isSmall = (file: string): boolean =>
    isUnitTest(file) &&
    !(file in ALONE) &&
    costOf(file, costs) < SMALL_BELOW_CPU_S &&
    !OF_THE_PROCESS.test(readFileSync(join(root, file), 'utf8'));
  const { small = [], other = [] } = Object.groupBy(files, (file) => (isSmall(file) ? 'small' : 'other'));
  const byPackage = Object.values(Object.groupBy(small, packageOf));
  return [...byPackage.flatMap((own = []) => inEqualParts(own)), ...other.map((file) => [file])];
}

function inEqualParts(files: readonly string[]): string[][] {
  const parts = Math.ceil(files.length / LARGEST_BATCH);
  const startOf = (part: number): number => Math.round((part * files.length) / parts);
  return Array.from({ length: parts }, (_, part) => files.slice(startOf(part), startOf(part + 1)));
}
