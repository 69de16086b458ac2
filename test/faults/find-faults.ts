import { reachGraph } from '../support/runner/reach.ts';
import type { Costs } from '../support/runner/schedule.ts';
import { FOLDERS, findTestFiles } from '../support/runner/test-files.ts';
import { type Copy, copyRepository } from './copy.ts';
import { candidates, type Tier } from './order.ts';
import type { Fault } from './read-faults.ts';
import { runTest } from './run-test.ts';

export interface FindOptions {
  readonly root: string;
  readonly faults: readonly Fault[];
  readonly tier: Tier;
  readonly costs: Costs;
  readonly print: (line: string) => void;
}

/** A test file that hangs counts as failed, as it does in a run of the suite. */
const FILE_MS = 300_000;
/** After this time no further file is tried for a fault. */
const FAULT_MS = 1_800_000;

/**
 * Plants each fault in a copy of the repository and runs the test files of the tier that reach it, until one fails that
 * passes without the fault. Prints a line for each fault, and returns how many were found. Throws for a patch that doesn't
 * apply, before any test runs.
 */
export async function findFaults({ root, faults, tier, costs, print }: FindOptions): Promise<number> {
  using copy = copyRepository(root);
  for (const fault of faults) check(copy, fault);
  const graph = reachGraph(copy.root);
  const testFiles = findTestFiles(copy.root, FOLDERS);
  const passes = baseline(copy);
  let found = 0;
  for (const fault of faults) {
    const order = candidates(copy.root, testFiles, fault.files, { graph, costs, tier });
    const { by, tried, cpuS } = await search(copy, fault, order, passes);
    if (by !== undefined) found += 1;
    const outcome = by === undefined ? 'NOT FOUND' : `found by ${by}`;
    print(`${fault.name}: ${outcome} (${tried} of ${order.length} files, ${cpuS.toFixed(1)} CPU s)`);
    if (by === undefined) print(`  ${fault.promise}`);
  }
  return found;
}

function check(copy: Copy, { name, path }: Fault): void {
  try {
    copy.check(path);
  } catch (error) {
    const reason = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`${name} does not apply: ${reason}`, { cause: error });
  }
}

interface Search {
  readonly by: string | undefined;
  readonly tried: number;
  readonly cpuS: number;
}

/**
 * Tries one file after the other. A file finds the fault if it fails, passes without the fault, and fails with it again: one
 * that depends on the load of the machine finds nothing.
 */
async function search(
  copy: Copy,
  fault: Fault,
  order: readonly string[],
  passes: (file: string) => Promise<boolean>,
): Promise<Search> {
  const until = performance.now() + FAULT_MS;
  let cpuS = 0;
  let tried = 0;
  copy.plant(fault.path);
  try {
    for (const file of order) {
      if (performance.now() > until) break;
      tried += 1;
      const run = await runTest(copy.root, file, FILE_MS);
      cpuS += run.cpuS;
      if (run.passed) continue;
      copy.restore();
      const isSound = await passes(file);
      copy.plant(fault.path);
      if (isSound && !(await runTest(copy.root, file, FILE_MS)).passed) return { by: file, tried, cpuS };
    }
    return { by: undefined, tried, cpuS };
  } finally {
    copy.restore();
  }
}

/** Tells whether a test file passes without a fault; runs it once. */
function baseline(copy: Copy): (file: string) => Promise<boolean> {
  const known = new Map<string, boolean>();
  return async (file) => {
    const passed = known.get(file) ?? (await runTest(copy.root, file, FILE_MS)).passed;
    known.set(file, passed);
    return passed;
  };
}
