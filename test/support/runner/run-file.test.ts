import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { allowNestedRuns } from './nested-runs.ts';
import { closingLines } from './report.ts';
import { type FileResult, runFile } from './run-file.ts';

async function runText(t: TestContext, text: string): Promise<FileResult> {
  const root = tempDir(t);
  const lines = ["import { describe, test } from 'node:test';", "import assert from 'node:assert';", text];
  writeFileSync(join(root, 'it.test.ts'), lines.join('\n'));
  allowNestedRuns(t);
  return await runFile(root, 'it.test.ts');
}

test('a file is counted by its tests, and every failed one is named with those around it', async (t) => {
  const result = await runText(
    t,
    `test('passes', () => {});
     test('is left out', { skip: 'for a reason' }, () => {});
     describe('a group', () => { test('holds', () => {}); test('does not', () => assert.fail('so')); });
     test('outer', async (t) => { await t.test('inner', () => assert.fail('so')); });`,
  );
  const { passed, failed, skipped, failures } = result;
  assert.deepEqual({ passed, failed, skipped }, { passed: 2, failed: 3, skipped: 1 });
  assert.deepEqual(failures, ['a group > does not', 'outer > inner', 'outer']);
  assert.match(result.output, /for a reason/);
  assert.doesNotMatch(result.output, /duration_ms \d/);
});

for (const [what, text] of [
  ['cannot be loaded', "import 'no-such-package';"],
  ['exits with an error', "test('passes', () => {}); process.exitCode = 3;"],
] as const)
  test(`a file that ${what} has failed`, async (t) => {
    const { failed, failures } = await runText(t, text);
    assert.deepEqual([failed, failures], [1, ['the file itself']]);
  });

test('the last lines name the slowest files and every failed test, and count', () => {
  const result = {
    file: 'libs/a.test.ts',
    seconds: 1,
    passed: 2,
    failed: 0,
    skipped: 1,
    failures: [],
    output: '',
  };
  const slow = { ...result, file: 'libs/b.test.ts', seconds: 12.34, failed: 1, failures: ['it > fails'] };
  assert.deepEqual(closingLines([result, slow]), [
    'slowest files:',
    '    12.3 s  libs/b.test.ts',
    '     1.0 s  libs/a.test.ts',
    'failed tests:',
    '  libs/b.test.ts: it > fails',
    '4 passed, 1 failed, 2 skipped',
  ]);
  assert.deepEqual(closingLines([result], ['libs/c.test.ts']).slice(-3), [
    'not run, because the time was over:',
    '  libs/c.test.ts',
    '2 passed, 0 failed, 2 skipped',
  ]);
  assert.equal(closingLines(Array.from({ length: 30 }, () => result)).length, 1 + 20 + 1);
});
