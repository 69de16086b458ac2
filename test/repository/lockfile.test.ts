import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingPlatforms, readLockfile } from '../support/lockfile.ts';

test('npm ci can use the lockfile on every platform', () => {
  assert.deepEqual(missingPlatforms(readLockfile()), [], 'run: npm run lockfile');
});

test('the lockfile names no address that a package comes from', () => {
  const named = Object.entries(readLockfile().packages).filter(([, { resolved, link }]) => resolved && !link);
  assert.deepEqual(named, []);
});

test('every dependency is pinned, and the runtime is there for both Linux platforms', () => {
  const { packages } = readLockfile();
  for (const platform of ['x64', 'arm64'])
    assert.ok(packages[`node_modules/node-linux-${platform}`]?.version);
  const ranges = Object.entries(packages)
    .filter(([path]) => path === '' || /^(libs|services)\//.test(path))
    .flatMap(([path, locked]) => {
      const { dependencies, devDependencies } = locked as Record<string, Record<string, string> | undefined>;
      return Object.entries({ ...dependencies, ...devDependencies, ...locked.optionalDependencies }).map(
        ([name, version]) => `${path}: ${name}@${version}`,
      );
    })
    .filter((line) => !/@\d+\.\d+\.\d+$/.test(line));
  assert.deepEqual(ranges, []);
});
