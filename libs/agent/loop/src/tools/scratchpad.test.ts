import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeTask, makeToolContext } from '../../testing/harness.ts';
import { rootIdOf, scratchDir, scratchName, scratchpadTools } from './scratchpad.ts';

function padOf(t: TestContext) {
  const root = tempDir(t);
  const context = makeToolContext({ dir: root, files: anchoredFiles(root, false) });
  const [read, write, list] = scratchpadTools();
  assert.ok(read && write && list);
  const as = (task: { taskId?: string; rootId?: string } = {}) => {
    const call = { ...context, task: makeTask('do it', { task }) };
    return {
      read: (name: string) => read.run({ name }, call),
      write: (name: string, content: string, append = false) => write.run({ name, content, append }, call),
      list: async () => (await list.run({}, call)).output,
    };
  };
  return { root, as };
}

test('a task and its sub-agents share a scratchpad that no other task sees', async (t) => {
  const { root, as } = padOf(t);
  const [parent, child, other] = [
    as({ taskId: 'root-1' }),
    as({ taskId: 'c', rootId: 'root-1' }),
    as({ taskId: 'o' }),
  ];
  assert.deepEqual(await parent.list(), { files: [] });
  assert.deepEqual(readdirSync(root), [], 'listing creates nothing');
  const written = await child.write('findings.md', 'a\nb\n');
  assert.deepEqual(written.output, { path: '.scratch/root-1/findings.md', bytes: 4 });
  await child.write('findings.md', 'c\n', true);
  assert.deepEqual((await parent.read('findings.md')).output, { content: 'a\nb\nc', lines: 3 });
  assert.deepEqual(await parent.list(), { files: ['findings.md'] });
  assert.deepEqual(await other.list(), { files: [] });
  assert.match(String((await other.read('findings.md')).output), /there is no findings\.md/);
});

test('every root id maps to a safe, distinct name', () => {
  const ids = [
    'a',
    'A',
    'home',
    'outputs',
    'Outputs',
    '../x',
    '.',
    '..',
    '.swept-1',
    'a/b',
    'ü',
    'x'.repeat(200),
    'h-1',
    '',
    'a\0b',
  ];
  const names = ids.map(scratchName);
  for (const name of names) assert.match(name, /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
  assert.equal(new Set(names).size, ids.length);
  for (const reserved of ['home', 'outputs', 'Outputs']) assert.match(scratchName(reserved), /^h-/);
  const task = makeTask('x', { task: { taskId: 'part', rootId: '../../etc' } });
  assert.equal(rootIdOf(task), '../../etc');
  assert.match(scratchDir(task), /^\.scratch\/h-[0-9a-f]{40}$/);
});

test('the scratchpad is limited in file size and in number of files', async (t) => {
  const { root, as } = padOf(t);
  const pad = as();
  assert.match(String((await pad.write('a', 'x'.repeat(1024 * 1024 + 1))).output), /1048576 are allowed/);
  await pad.write('a', 'x');
  for (let index = 0; index < 199; index += 1) writeFileSync(join(root, '.scratch/task', `${index}`), 'x');
  assert.match(String((await pad.write('b', 'x')).output), /200 files already/);
});

test('no symlink leads a read or a write out of the scratchpad, even within the workspace', async (t) => {
  const { root, as } = padOf(t);
  const pad = as();
  await pad.write('a', 'x');
  writeFileSync(join(root, 'source.ts'), 'code');
  symlinkSync('../../source.ts', join(root, '.scratch/task/link'));
  assert.match(String((await pad.read('link')).output), /symlink/);
  assert.equal((await pad.write('link', 'mine')).ok, true);
  assert.equal(readFileSync(join(root, 'source.ts'), 'utf8'), 'code');
  mkdirSync(join(root, 'src'));
  symlinkSync('../src', join(root, '.scratch/linked'));
  const linked = as({ taskId: 'linked' });
  for (const result of [await linked.write('x', 'planted'), await linked.read('x')])
    assert.equal(result.ok, false);
  rmSync(join(root, '.scratch'), { recursive: true });
  symlinkSync('src', join(root, '.scratch'));
  assert.equal((await as({ taskId: 'new' }).write('x', 'planted')).ok, false);
  assert.deepEqual(readdirSync(join(root, 'src')), []);
});
