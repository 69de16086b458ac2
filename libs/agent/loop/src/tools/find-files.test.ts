import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeToolContext } from '../../testing/harness.ts';
import { findFilesTool } from './find-files.ts';
import { walkTree } from './search/file-walk.ts';

function treeOf(t: TestContext, paths: readonly string[]) {
  const root = tempDir(t);
  for (const path of paths) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), 'x');
  }
  const context = makeToolContext({ dir: root, files: anchoredFiles(root, false) });
  const find = findFilesTool({ clock: systemClock });
  return { root, find: (input: object, more = {}) => find.run(input, { ...context, ...more }) };
}

test('files that match a pattern are found in sorted order, without hidden ones', async (t) => {
  const { root, find } = treeOf(t, [
    ...['z.ts', 'b/c.ts', 'b/a.ts', 'b.ts', '.env', 'a/b/c/d/e/f.ts', 'node_modules/p/i.ts'],
    ...['.git/x.ts', '.scratch/x.ts', 'b/.git/x.ts'],
  ]);
  symlinkSync('b', join(root, 'link'));
  const all = ['a/b/c/d/e/f.ts', 'b.ts', 'b/a.ts', 'b/c.ts', 'z.ts'];
  assert.deepEqual((await find({ pattern: '*.ts' })).output, { files: all });
  assert.match(JSON.stringify(await find({ glob: '*.ts' })), /"z\.ts".*glob is read as pattern/);
  assert.deepEqual((await find({ pattern: 'b/*' })).output, { files: ['b/a.ts', 'b/c.ts'] });
  assert.deepEqual((await find({ pattern: '*.ts', path: 'b' })).output, { files: ['b/a.ts', 'b/c.ts'] });
  assert.deepEqual((await find({ pattern: '**/f.ts', path: './a/b' })).output, { files: ['a/b/c/d/e/f.ts'] });
  assert.deepEqual((await find({ pattern: 'link' })).output, { files: ['link'] });
  const packages = await find({ pattern: '*.ts', path: 'node_modules' });
  assert.deepEqual(packages.output, { files: ['node_modules/p/i.ts'] });
  assert.deepEqual((await find({ pattern: '*.ts', path: '.scratch' })).output, { files: ['.scratch/x.ts'] });
  assert.deepEqual((await find({ pattern: 'absent' })).output, { files: [] });
});

test('an invalid pattern or path is explained', async (t) => {
  const { find } = treeOf(t, ['a']);
  assert.match(String((await find({ pattern: '../*' })).output), /leads out of the workspace/);
  assert.match(String((await find({ pattern: '*', path: '..' })).output), /leads out of the workspace/);
  assert.match(String((await find({ pattern: '.git/*' })).output), /off limits/);
  assert.match(String((await find({ pattern: '{a,b' })).output), /without its }/);
  assert.match(String((await find({ pattern: '*', path: 'nowhere' })).output), /no such file/);
  assert.match(String((await find({ pattern: '' })).output), /wrong input/);
});

test('a search stops at its limits and reports which', async (t) => {
  const many = Array.from({ length: 600 }, (_, index) => `${index % 7}/${index}.txt`);
  const { find } = treeOf(t, [...many, `${'d/'.repeat(45)}deep.md`]);
  const { output } = await find({ pattern: '*.txt' });
  assert.ok(
    typeof output === 'object' && output !== null && 'files' in output && Array.isArray(output.files),
  );
  assert.equal(output.files.length, 500);
  assert.match(JSON.stringify(output), /there are more; search a subdirectory/);
  assert.match(JSON.stringify((await find({ pattern: '*.md' })).output), /not searched deeper than 40/);
  let now = 0;
  const slow = { ...systemClock, now: () => (now += 1000) };
  const files = anchoredFiles(treeOf(t, many).root, false);
  const stopped = await findFilesTool({ clock: slow }).run(
    { pattern: 'x' },
    makeToolContext({ dir: '/', files }),
  );
  assert.match(JSON.stringify(stopped.output), /stopped after 10 s/);
  const reason = new Error('canceled');
  await assert.rejects(find({ pattern: '*' }, { signal: AbortSignal.abort(reason) }), reason);
});

test('a directory with too many entries is reported as searched incompletely', {
  timeout: 60_000,
}, async (t) => {
  const { root, find } = treeOf(t, ['few/a.ts']);
  mkdirSync(join(root, 'many'));
  for (let index = 0; index <= 10_000; index += 1) writeFileSync(join(root, 'many', `${index}.txt`), '');
  const absent = { pattern: 'absent' };
  assert.match(
    JSON.stringify((await find(absent)).output),
    /only 10000 entries of a directory are looked at/,
  );
  assert.deepEqual((await find({ ...absent, path: 'few' })).output, { files: [] });
});

test('a walk yields to the event loop', async (t) => {
  const { root } = treeOf(
    t,
    Array.from({ length: 20 }, (_, index) => `${index}.txt`),
  );
  let now = 0;
  const clock = { ...systemClock, now: () => (now += 15) };
  const limits = { maxDepth: 1, maxEntries: 100, maxMs: 60_000, packages: false, clock };
  let turns = 0;
  const seen: number[] = [];
  await walkTree(anchoredFiles(root, false), '.', { ...limits, signal: new AbortController().signal }, () => {
    seen.push(turns);
    setImmediate(() => {
      turns += 1;
    });
    return 'on';
  });
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, index) => index),
  );
});
