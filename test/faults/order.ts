import { statSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import type { ReachGraph } from '../support/runner/reach.ts';
import type { Costs } from '../support/runner/schedule.ts';
import { packageOf, tierOf } from '../support/runner/test-files.ts';

export type Tier = 'fast' | 'all';

/** A file above this is tried after those that are a little farther away. */
const CHEAP_BELOW_S = 8;
/** A guess for a file without a figure: so many bytes of tests take a second. */
const BYTES_A_SECOND = 10_000;
/** A file that is so many steps away still uses the change for what it tests. */
const NEAR_STEPS = 4;

/**
 * The test files of a tier that reach one of the changed files, in the order in which they are tried: those that bear the
 * name of a changed file or import it, then those of its folder, of its package and of others, near ones first; among
 * those, the cheapest first.
 */
export function candidates(
  root: string,
  testFiles: readonly string[],
  changed: readonly string[],
  { graph, costs, tier }: { graph: ReachGraph; costs: Costs; tier: Tier },
): string[] {
  const packages = new Set(changed.map(packageOf));
  const folders = new Set(changed.map(dirname));
  const stems = changed.map((file) => file.slice(0, -extname(file).length));
  const costOf = (file: string): number => costs[file] ?? statSync(join(root, file)).size / BYTES_A_SECOND;
  const distanceOf = (file: string, steps: number): number => {
    if (steps <= 1 || stems.some((stem) => file.startsWith(stem))) return 0;
    if (folders.has(dirname(file))) return 1;
    return (packages.has(packageOf(file)) ? 2 : 3) + (steps > NEAR_STEPS ? 1 : 0);
  };
  return testFiles
    .filter((file) => tier === 'all' || tierOf(file) === 'fast')
    .flatMap((file) => {
      const reached = graph.filesOf(file);
      const steps = Math.min(...changed.map((each) => reached.get(each) ?? Number.POSITIVE_INFINITY));
      if (steps === Number.POSITIVE_INFINITY) return [];
      const cost = costOf(file);
      return [{ file, cost, rank: distanceOf(file, steps) + (cost > CHEAP_BELOW_S ? 2 : 0) }];
    })
    .sort((a, b) => a.rank - b.rank || a.cost - b.cost)
    .map(({ file }) => file);
}
