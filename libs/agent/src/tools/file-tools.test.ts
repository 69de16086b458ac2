import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeToolContext } from '../testing/harness.ts';
import { fileTools } from './file-tools.ts';

const MODULES = ['./file-tools.ts', '@hermes-fleet/workspace'].map((path) => import.meta.resolve(path));
/** Edits and writes a.txt in its working directory beyond the file size limit. */
const GROW = `
const [{ fileTools }, { anchoredFiles }] = await Promise.all(${JSON.stringify(MODULES)}.map((url) => import(url)));
const [, write, edit] = fileTools();
const context = { files: anchoredFiles(process.cwd(), false), signal: new AbortController().signal };
const content = 'n'.repeat(300_000);
const codes = [];
for (const [tool, input] of [[edit, { old_text: 'old', new_text: content }], [write, { content }]])
  await tool.run({ path: 'a.txt', ...input }, context).catch(({ code }) => codes.push(code));
process.stdout.write(codes.join());
`;

test('a file keeps its old content when the new content does not fit on the disk', (t) => {
  const cwd = tempDir(t);
  writeFileSync(join(cwd, 'a.txt'), 'the old content\n');
  const limited = [
    '-c',
    'ulimit -f 100; exec "$@"',
    'sh',
    process.execPath,
    '--input-type=module',
    '-e',
    GROW,
  ];
  const { stdout, stderr } = spawnSync('/bin/sh', limited, { cwd, encoding: 'utf8' });
  assert.equal(stdout, 'EFBIG,EFBIG', stderr);
  assert.equal(readFileSync(join(cwd, 'a.txt'), 'utf8'), 'the old content\n');
});

test('a replaced file holds only the new content, longer or shorter', async (t) => {
  const dir = tempDir(t);
  const context = makeToolContext({ dir, files: anchoredFiles(dir, false) });
  const write = fileTools().find(({ name }) => name === 'write_file');
  for (const content of ['some', 'something longer', 'less', '', 'again']) {
    assert.equal((await write?.run({ path: 'a.txt', content }, context))?.ok, true);
    assert.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), content);
  }
});

test('a file in Latin-1 is shown readably, and an edit keeps its encoding', async (t) => {
  const dir = tempDir(t);
  const context = makeToolContext({ dir, files: anchoredFiles(dir, false) });
  const [read, , edit] = fileTools();
  writeFileSync(join(dir, 'a.txt'), Buffer.from('Größe\nx\n', 'latin1'));
  const shown = await read?.run({ path: 'a.txt' }, context);
  assert.deepEqual(shown?.output, {
    content: 'Größe\nx',
    lines: 2,
    encoding: 'Windows-1252 or Latin-1, which edit_file keeps; write_file would make it UTF-8',
  });
  const done = await edit?.run({ path: 'a.txt', old_text: 'x', new_text: 'ü' }, context);
  assert.equal(done?.ok, true);
  assert.deepEqual(readFileSync(join(dir, 'a.txt')), Buffer.from('Größe\nü\n', 'latin1'));
  writeFileSync(join(dir, 'bom.txt'), '\uFEFFa\n');
  assert.deepEqual((await read?.run({ path: 'bom.txt' }, context))?.output, { content: 'a', lines: 1 });
});

test('edits are all applied or none, and the forms of an edit do not mix', async (t) => {
  const dir = tempDir(t);
  const context = makeToolContext({ dir, files: anchoredFiles(dir, false) });
  const edit = fileTools()[2];
  const call = async (input: object): Promise<string> => {
    writeFileSync(join(dir, 'a.txt'), 'one two two\n');
    const result = await edit?.run({ path: 'a.txt', ...input }, context);
    return result?.ok ? readFileSync(join(dir, 'a.txt'), 'utf8') : `${String(result?.output)}|`;
  };
  const both = [
    { old_text: 'one', new_text: '1' },
    { old_text: 'two', new_text: '2', replace_all: true },
  ];
  assert.equal(await call({ edits: both }), '1 2 2\n');
  assert.equal(await call({ edits: JSON.stringify(both) }), '1 2 2\n', 'models send lists as text');
  assert.equal(await call({ edits: [{ old_text: 'two', new_text: '2' }], replace_all: true }), 'one 2 2\n');
  assert.match(await call({ edits: [both[0], { old_text: 'three', new_text: '' }] }), /^edits\[1\].*occur/);
  assert.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'one two two\n');
  assert.equal(await call({ old_text: 'one ', new_text: '' }), 'two two\n');
  assert.match(await call({ old_text: 'one', new_text: '1', edits: both }), /, not both\|$/);
  assert.match(await call({ new_text: '1' }), /^old_text is missing/);
  assert.match(await call({ old_text: 'one' }), /^new_text is missing/);
  assert.match(await call({ edits: [] }), /^wrong input/);
  assert.match(await call({}), /^old_text is missing/);
});
