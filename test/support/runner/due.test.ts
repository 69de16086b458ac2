import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { changedSinceRecord, countCommits, partDue, sixthOf } from './due.ts';
import {
  cleanCommit,
  RECORD as RECORD_FILE,
  readRecord,
  renewRecord,
  type SuiteRecord,
  writeRecord,
} from './suite-record.ts';

/** A repository with one commit. */
function repository(t: TestContext) {
  const root = tempDir(t);
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...args], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
  const commit = (file: string, text: string): string => {
    writeFileSync(join(root, file), text);
    git('add', '--all');
    git('commit', '-q', '-m', 'A commit');
    return git('rev-parse', 'HEAD');
  };
  git('init', '-q');
  return { root, commit, first: commit('a.ts', '1') };
}

const RECORD: SuiteRecord = {
  commit: 'c',
  cpu_s: 3,
  files: { 'a.test.ts': 1, 'b.test.ts': 2, 'c.test.ts': 3 },
  with_skipped: ['c.test.ts'],
};

test('a file is due if it has not passed whole or reaches a change, and all are where the commit is unknown', (t) => {
  const { root, commit, first } = repository(t);
  commit('b.ts', '1');
  const changed = changedSinceRecord(root, { ...RECORD, commit: first });
  const files = ['a.test.ts', 'b.test.ts', 'c.test.ts', 'new.test.ts'];
  const reaches = (file: string, changed: ReadonlySet<string>): boolean =>
    changed.has(file.replace('.test', ''));
  assert.deepEqual(partDue(files, RECORD, changed, reaches), {
    due: ['b.test.ts', 'c.test.ts', 'new.test.ts'],
    others: ['a.test.ts'],
  });
  const unknown = changedSinceRecord(root, RECORD);
  assert.deepEqual(partDue(files, RECORD, unknown, reaches), { due: files, others: [] });
});

test('six commits in a row run every file once', (t) => {
  const files = Array.from({ length: 20 }, (_, at) => `${at}`);
  const runs = Array.from({ length: 6 }, (_, commits) => sixthOf(files, 100 + commits));
  assert.deepEqual(runs.flat().sort(), files.toSorted());
  assert.ok(runs.every(({ length }) => length >= 3));
  assert.equal(countCommits(repository(t).root), 1);
});

test('the record keeps what passed: a file that failed, was skipped whole, did not run or is gone leaves it', () => {
  const result = { seconds: 9, passed: 1, failed: 0, skipped: 0, failures: [], output: '' };
  const record: SuiteRecord = {
    commit: 'old',
    cpu_s: 0,
    files: { kept: 1, failed: 1, skipped: 1, late: 1, gone: 1 },
    with_skipped: ['gone', 'kept', 'late', 'passed'],
  };
  const renewed = renewRecord(record, {
    commit: 'new',
    scale: 2,
    results: [
      { ...result, file: 'passed', cpuS: 5.04 },
      { ...result, file: 'in part', cpuS: 2, skipped: 1 },
      { ...result, file: 'failed', cpuS: 1, failed: 1 },
      { ...result, file: 'skipped', cpuS: 1, passed: 0, skipped: 2 },
    ],
    notRun: ['late'],
    existing: ['passed', 'in part', 'kept', 'failed', 'skipped', 'late'],
  });
  assert.deepEqual(renewed, {
    commit: 'new',
    cpu_s: 5,
    files: { 'in part': 1, kept: 1, passed: 2.5 },
    with_skipped: ['in part', 'kept', 'skipped'],
  });
});

test('a record is read as it was written, is empty where there is none, and is refused when damaged', (t) => {
  const root = tempDir(t);
  assert.deepEqual(readRecord(root).files, {});
  mkdirSync(join(root, 'test'));
  writeRecord(root, RECORD);
  assert.deepEqual(readRecord(root), RECORD);
  writeFileSync(join(root, RECORD_FILE), '{"files": 1}');
  assert.throws(() => readRecord(root), /commit/);
});

test('a commit is vouched for only if the tree is exactly that, apart from the record', (t) => {
  const { root, commit, first } = repository(t);
  assert.equal(cleanCommit(root), first);
  mkdirSync(join(root, 'test'));
  writeRecord(root, RECORD);
  assert.equal(cleanCommit(root), first);
  writeFileSync(join(root, 'a.ts'), 'changed');
  assert.equal(cleanCommit(root), undefined);
  const second = commit('a.ts', 'changed');
  assert.equal(cleanCommit(root), second);
});
