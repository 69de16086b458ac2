import { globSync } from 'node:fs';
import { join } from 'node:path';
import { packageOf as folderOf } from '../packages.ts';

/** The folders that hold tests. */
export const FOLDERS: readonly string[] = ['libs', 'services', 'deploy', 'test'];

/** The test files that `make test` runs, and those that only `make test-all` runs. */
export type Tier = 'fast' | 'slow';

/** The tier of a test file is part of its name: `x.test.ts` is fast, `x.slow.test.ts` is slow. */
export const tierOf = (file: string): Tier => (file.endsWith('.slow.test.ts') ? 'slow' : 'fast');

/** CPU seconds that a fast file may use by itself. */
const FAST_CPU_S = 8;

/** Files of `make test` that start what others of its tier may not, with the CPU seconds that they may use. */
export const SHARED: Readonly<Record<string, number>> = {
  'test/fleet/promises.test.ts': 120,
  'test/compose/welcome.test.ts': 20,
};

/** CPU seconds that a file of `make test` may use. */
export const fastLimitOf = (file: string): number => SHARED[file] ?? FAST_CPU_S;

/** Starts a whole fleet as processes. */
export const startsFleet = (file: string): boolean => file.startsWith('test/fleet/');
export const startsContainers = (file: string): boolean =>
  file.startsWith('test/compose/') || (file.startsWith('deploy/docker/') && tierOf(file) === 'slow');
/** Takes seconds, and starts no fleet and no containers. */
export const isUnitTest = (file: string): boolean => tierOf(file) === 'fast' && !(file in SHARED);

/** The package of a file, or the top folder where there are no packages; empty for a file of the root. */
export function packageOf(file: string): string {
  return folderOf(file) ?? (file.includes('/') ? (file.split('/')[0] ?? '') : '');
}

/** The test files at or below these paths, relative to the root, in alphabetical order. */
export function findTestFiles(root: string, paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => {
    const pattern = path.endsWith('.test.ts') ? path : join(path, '**/*.test.ts');
    return globSync(pattern, { cwd: root });
  });
  return [...new Set(found)].filter((file) => !/(^|\/)node_modules\//.test(file)).sort();
}
