import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeToolContext } from '../../testing/harness.ts';
import { memoryTools } from './memory.ts';

function memoryOf(t: TestContext) {
  const base = tempDir(t);
  const root = join(base, 'ws');
  mkdirSync(root);
  const dir = join(base, 'state', 'memory');
  const context = makeToolContext({ dir: root, files: anchoredFiles(root, false) });
  const [read, write, list] = memoryTools({ dir });
  assert.ok(read && write && list);
  return {
    base,
    dir,
    read: (name: string, more = {}) => read.run({ name, ...more }, context),
    write: (name: string, content: string, append?: boolean) =>
      write.run({ name, content, ...(append !== undefined && { append }) }, context),
    list: async () => (await list.run({}, context)).output,
  };
}

test('a later task reads the memory that an earlier one wrote', async (t) => {
  const { dir, read, write, list } = memoryOf(t);
  assert.deepEqual(await list(), { files: [] });
  assert.match(String((await read('notes.md')).output), /there is no notes\.md/);
  assert.deepEqual((await write('notes.md', '# Deploy\n')).output, { name: 'notes.md', bytes: 9 });
  await write('notes.md', 'by hand\n', true);
  await write('a.md', 'x');
  assert.deepEqual((await read('notes.md')).output, { content: '# Deploy\nby hand', lines: 2 });
  assert.deepEqual((await read('notes.md', { offset: 2 })).output, { content: 'by hand', lines: 2 });
  assert.deepEqual((await read('notes.md', { limit: 1 })).output, {
    content: '# Deploy',
    lines: 2,
    read_on_at: 2,
  });
  assert.deepEqual(await list(), { files: ['a.md', 'notes.md'] });
  assert.equal(statSync(dir).mode & 0o777, 0o700);
  assert.deepEqual((await write('a.md', '')).output, { removed: 'a.md' });
  assert.match(String((await write('a.md', '')).output), /there is no a\.md/);
  assert.deepEqual(readdirSync(dir), ['notes.md']);
});

test('concurrent writes lose nothing', async (t) => {
  const { read, write } = memoryOf(t);
  await Promise.all(Array.from({ length: 40 }, (_, index) => write('log.md', `line ${index}\n`, true)));
  const { output } = await read('log.md');
  assert.ok(typeof output === 'object' && output !== null && 'lines' in output);
  assert.equal(output.lines, 40);
});

test('the memory is limited in file size and in number of files', async (t) => {
  const { dir, write } = memoryOf(t);
  assert.match(String((await write('a.md', 'x'.repeat(65_537))).output), /65536 are allowed/);
  assert.equal((await write('a.md', 'x'.repeat(65_536))).ok, true);
  assert.match(String((await write('a.md', 'x', true)).output), /65537 bytes/);
  for (let index = 0; index < 199; index += 1) writeFileSync(join(dir, `${index}.md`), 'x');
  assert.match(String((await write('one-more.md', 'x')).output), /200 files already/);
  assert.equal((await write('a.md', 'x')).ok, true, 'an existing file can be written');
  assert.equal((await write('0.md', '')).ok, true);
  assert.equal((await write('one-more.md', 'x')).ok, true);
});

test('only plain names of Markdown files are accepted', async (t) => {
  const { base, dir, read, write, list } = memoryOf(t);
  await write('a.md', 'x');
  writeFileSync(join(base, 'state', 'token.md'), 'top secret');
  for (const name of [
    '../token.md',
    '/etc/hosts.md',
    'sub/a.md',
    '.hidden.md',
    'a.txt',
    'a',
    '',
    'a\0.md',
    `${'x'.repeat(101)}.md`,
  ]) {
    for (const result of [await read(name), await write(name, 'planted')]) {
      assert.equal(result.ok, false, name);
      assert.match(String(result.output), /wrong input/);
    }
  }
  symlinkSync('../token.md', join(dir, 'link.md'));
  mkdirSync(join(dir, 'folder.md'));
  assert.match(String((await read('link.md')).output), /symlink/);
  assert.match(String((await read('folder.md')).output), /not a regular file/);
  assert.deepEqual(await list(), { files: ['a.md'] });
  await write('link.md', 'mine');
  assert.equal(readFileSync(join(base, 'state', 'token.md'), 'utf8'), 'top secret');
  assert.equal(readFileSync(join(dir, 'link.md'), 'utf8'), 'mine');
  assert.equal((await write('folder.md', 'x')).ok, false);
  assert.equal(existsSync(join(dir, '.folder.md.tmp')), true);
});
