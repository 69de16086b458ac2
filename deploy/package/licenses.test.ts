import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folder } from '@hermes-fleet/installation';
import { containedFaults, EXCEPTIONS, licenseFaults } from './licenses.ts';
import { type LockedPackage, readLock } from './lock.ts';

const locked = (name: string, license: string | undefined): LockedPackage => {
  return {
    path: `node_modules/${name}`,
    name,
    version: '1.0.0',
    license,
    integrity: undefined,
    isDev: false,
  };
};
const accepted = Object.entries(EXCEPTIONS).map(([name, each]) => locked(name, each.locked));

test('every package in the lock file has a licence that is allowed, or a reason', () => {
  assert.deepEqual(licenseFaults(readLock(folder())), []);
});

test('a licence that is not allowed, one that is missing, and an exception that nothing needs are faults', () => {
  const packages = [
    locked('a', 'MIT'),
    locked('b', 'GPL-3.0-only'),
    locked('c', undefined),
    ...accepted.slice(1),
  ];
  assert.deepEqual(licenseFaults(packages), [
    'b@1.0.0: GPL-3.0-only',
    'c@1.0.0: no licence',
    `${accepted[0]?.name}: no package needs this exception`,
  ]);
});

test('one allowed licence of a choice is enough, and not of a list', () => {
  assert.deepEqual(licenseFaults([locked('a', '(GPL-3.0-only OR MIT)'), ...accepted]), []);
  assert.deepEqual(licenseFaults([locked('a', 'MIT AND GPL-3.0-only'), ...accepted]), [
    'a@1.0.0: MIT AND GPL-3.0-only',
  ]);
});

test('an exception is for the word of the lock file that it was made for, and one for tests is not for the package', () => {
  const others = accepted.filter(({ name }) => name !== 'axe-core');
  assert.deepEqual(licenseFaults([locked('axe-core', 'GPL-3.0-only'), ...others]), [
    'axe-core@1.0.0: GPL-3.0-only',
    'axe-core: no package needs this exception',
  ]);
  const contained = [
    locked('@modelcontextprotocol/server-memory', 'SEE LICENSE IN LICENSE'),
    locked('a', 'MIT'),
  ];
  assert.deepEqual(containedFaults(contained), []);
  assert.deepEqual(containedFaults([...contained, locked('ssh2', undefined)]), [
    'ssh2@1.0.0: is in the package, and its exception is for tests',
  ]);
});
