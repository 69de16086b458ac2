import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { planBatches } from './batches.ts';

function plan(t: TestContext, texts: Readonly<Record<string, string>>, costs = {}): string[][] {
  const root = tempDir(t);
  for (const [file, text] of Object.entries(texts)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return planBatches(root, Object.keys(texts), costs);
}

test('small unit tests of one package share a process', (t) => {
  const [a, b, dear] = ['libs/a/src/a.test.ts', 'libs/a/src/in/b.test.ts', 'libs/a/src/dear.test.ts'];
  const slow = ['libs/a/src/a.slow.test.ts', 'libs/a/src/b.slow.test.ts', 'test/fleet/promises.test.ts'];
  const other = 'libs/b/src/a.test.ts';
  const texts = Object.fromEntries([a, b, dear, other, ...slow].map((file) => [file, '']));
  const batches = plan(t, texts, { [b]: 2.9, [dear]: 3 });
  assert.deepEqual(batches, [[a, b], [other], [dear], ...slow.map((file) => [file])]);
});

test('a package with many small files has several batches of about the same size', (t) => {
  const files = Array.from({ length: 26 }, (_, at) => `libs/a/src/${at}.test.ts`);
  const batches = plan(t, Object.fromEntries(files.map((file) => [file, ''])));
  assert.deepEqual(batches.flat(), files);
  assert.deepEqual(
    batches.map(({ length }) => length),
    [9, 8, 9],
  );
});

test('a file that uses what the files of a process share has its own', (t) => {
  for (const [text, shares] of [
    ["spawn(process.execPath, ['a.ts']);", true],
    ["process.env.A = 'b';", false],
    ["process.on('exit', end);", false],
    ['globalThis.fetch = fake;', false],
    ["import fc from 'fast-check';", false],
    ["import { sweep } from './testing/crash-sweep.ts';", false],
    ['testRelayCrashes(cases);', false],
    ["import { mock } from 'node:test';", false],
    ["t.mock.method(fs, 'writeSync');", false],
  ] as const) {
    const batches = plan(t, { 'libs/a/src/a.test.ts': text, 'libs/a/src/b.test.ts': '' });
    assert.equal(batches.length, shares ? 1 : 2, text);
  }
});
