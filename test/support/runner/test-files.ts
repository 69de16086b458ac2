import { globSync } from 'node:fs';
import { join } from 'node:path';

/** The folders that hold tests. */
export const FOLDERS: readonly string[] = ['libs', 'services', 'deploy', 'test'];

/** Tests that start a whole fleet as processes. */
const FLEETS = 'test/fleet/';
/** Tests that start containers. */
const CONTAINERS: readonly string[] = ['test/compose/', 'deploy/docker/'];

export const startsFleet = (file: string): boolean => file.startsWith(FLEETS);
export const startsContainers = (file: string): boolean =>
  CONTAINERS.some((folder) => file.startsWith(folder));

/** The test files at or below these paths, relative to the root, in alphabetical order. */
export function findTestFiles(root: string, paths: readonly string[]): string[] {
  const found = paths.flatMap((path) => {
    const pattern = path.endsWith('.test.ts') ? path : join(path, '**/*.test.ts');
    return globSync(pattern, { cwd: root });
  });
  return [...new Set(found)].filter((file) => !/(^|\/)node_modules\//.test(file)).sort();
}
