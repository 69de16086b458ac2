import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { KNOWN, readDurations, renewDurations, writeDurations } from './durations.ts';
import { FOLDERS, findTestFiles } from './test-files.ts';

test('measured durations replace known ones; files that are gone or fast are not listed', () => {
  const known = { 'a.test.ts': 10, 'b.test.ts': 20, 'gone.test.ts': 30, 'now-fast.test.ts': 40 };
  const measured = { 'a.test.ts': 11, 'now-fast.test.ts': 4.9, 'new.test.ts': 5, 'also-gone.test.ts': 60 };
  const files = ['a.test.ts', 'b.test.ts', 'new.test.ts', 'now-fast.test.ts', 'unknown.test.ts'];
  assert.deepEqual(renewDurations(known, measured, files), {
    'a.test.ts': 11,
    'b.test.ts': 20,
    'new.test.ts': 5,
  });
});

test('a list is written sorted and rounded, and read as it was written', (t) => {
  const path = join(tempDir(t), 'below/durations.json');
  writeDurations(path, { 'b.test.ts': 1.25, 'a.test.ts': 7.04 });
  assert.deepEqual(Object.entries(readDurations(path)), [
    ['a.test.ts', 7],
    ['b.test.ts', 1.3],
  ]);
});

test('a list that is missing or damaged counts as empty: the order of the files is all that depends on it', (t) => {
  const path = join(tempDir(t), 'durations.json');
  assert.deepEqual(readDurations(path), {});
  writeFileSync(path, '{"a.test.ts": "long"}');
  assert.deepEqual(readDurations(path), {});
});

test('every file in known-durations.json exists', () => {
  const files = new Set(findTestFiles(resolve(import.meta.dirname, '../../..'), FOLDERS));
  const gone = Object.keys(readDurations(KNOWN)).filter((file) => !files.has(file));
  assert.deepEqual(gone, [], 'run `make durations`, which removes them');
});
