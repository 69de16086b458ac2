import { globSync } from 'node:fs';
import { dirname } from 'node:path';

/** The folders of all packages, relative to the root. */
export const packageFolders = (root: string): string[] =>
  globSync('{libs,services}/**/package.json', { cwd: root, exclude: ['**/node_modules/**'] })
    .map((manifest) => dirname(manifest))
    .sort();

/** The folder of the package that a file is in; undefined for a file outside of packages. */
export const packageOf = (file: string): string | undefined =>
  /^(?:libs|services)(?:\/[^/]+)+?(?=\/(?:src|testing|fixtures)\/|\/package\.json$)/.exec(file)?.[0];
