import { globSync } from 'node:fs';
import { join } from 'node:path';

/** The folders that hold tests. */
export const FOLDERS: readonly string[] = ['libs', 'services', 'deploy', 'test'];

const FLEETS = 'test/fleet/';
const CONTAINERS: readonly string[] = ['test/compose/', 'deploy/docker/'];
const CRASHES_AND_BRIEFS: readonly string[] = ['test/agent/', 'test/trader/', 'test/eval/'];

const isBelow = (folders: readonly string[], file: string): boolean =>
  folders.some((folder) => file.startsWith(folder));

/** Starts a whole fleet as processes. */
export const startsFleet = (file: string): boolean => file.startsWith(FLEETS);
export const startsContainers = (file: string): boolean => isBelow(CONTAINERS, file);
/** Takes seconds: starts no fleet, no containers, and no process for each of hundreds of crashes. */
export const isUnitTest = (file: string): boolean =>
  !isBelow([FLEETS, ...CONTAINERS, ...CRASHES_AND_BRIEFS], file);

/** The package of a file, or the top folder where there are no packages; empty for a file of the root. */
export function packageOf(file: string): string {
  const [top = '', name = '', ...rest] = file.split('/');
  if (top === 'libs' || top === 'services') return `${top}/${name}`;
  return name === '' && rest.length === 0 ? '' : top;
}

/** The test files at or below these paths, relative to the root, in alphabetical order. */
export function findTestFiles(root: string, paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => {
    const pattern = path.endsWith('.test.ts') ? path : join(path, '**/*.test.ts');
    return globSync(pattern, { cwd: root });
  });
  return [...new Set(found)].filter((file) => !/(^|\/)node_modules\//.test(file)).sort();
}
