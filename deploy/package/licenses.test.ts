import assert from 'node:assert/strict';
import { test } from 'node:test';
import { folder } from '@hermes-fleet/installation';
import { EXCEPTIONS, licenseFaults } from './licenses.ts';
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
const accepted = Object.keys(EXCEPTIONS).map((name) => locked(name, undefined));

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
