import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const FILE = join(resolve(import.meta.dirname, '../..'), 'package-lock.json');
const BIOME = 'node_modules/@biomejs/biome';
const PLATFORM = /cli-([a-z0-9]+)-([a-z0-9]+)(-musl)?$/;

interface Locked {
  version?: string;
  license?: string;
  resolved?: string;
  link?: boolean;
  cpu?: string[];
  os?: string[];
  libc?: string[];
  dev?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
  engines?: Record<string, string>;
}

export interface Lockfile {
  packages: Record<string, Locked>;
}

export const readLockfile = (): Lockfile => JSON.parse(readFileSync(FILE, 'utf8'));

/** Platform packages of Biome that `npm ci` wants to see in the lockfile and that are not there. */
export function missingPlatforms(lock: Lockfile): [name: string, version: string][] {
  return Object.entries(lock.packages[BIOME]?.optionalDependencies ?? {}).filter(
    ([name]) => lock.packages[`node_modules/${name}`] === undefined,
  );
}

/**
 * Adds them. A registry that does not mirror every platform makes `npm install` leave them out of the lockfile, and
 * then `npm ci` refuses it on every machine.
 */
function complete(): void {
  const lock = readLockfile();
  const biome = lock.packages[BIOME];
  for (const [name, version] of missingPlatforms(lock)) {
    const [, os, cpu, musl] = PLATFORM.exec(name) ?? [];
    lock.packages[`node_modules/${name}`] = {
      version,
      cpu: cpu === undefined ? [] : [cpu],
      dev: true,
      optional: true,
      os: os === undefined ? [] : [os],
      ...(os === 'linux' ? { libc: [musl ? 'musl' : 'glibc'] } : {}),
      ...(biome?.license ? { license: biome.license } : {}),
      ...(biome?.engines ? { engines: biome.engines } : {}),
    };
  }
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')),
  );
  writeFileSync(FILE, `${JSON.stringify(lock, null, 2)}\n`);
}

if (import.meta.main) complete();
