import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const locked = z.object({
  version: z.string().optional(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  link: z.boolean().optional(),
  dev: z.boolean().optional(),
});
const lockfile = z.object({ packages: z.record(z.string(), locked) });

/** One package of package-lock.json. */
export interface LockedPackage {
  /** The folder that npm installs it to, relative to the root, such as `node_modules/a/node_modules/b`. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  /** Undefined where its package.json names none. */
  readonly license: string | undefined;
  readonly integrity: string | undefined;
  /** Only development needs it. */
  readonly isDev: boolean;
}

/** The packages of others in package-lock.json of a checkout. Throws on a file of another form. */
export function readLock(root: string): readonly LockedPackage[] {
  const { packages } = lockfile.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && !link)
    .map(([path, { version, license, integrity, dev }]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: version ?? '',
      license,
      integrity,
      isDev: dev === true,
    }));
}
