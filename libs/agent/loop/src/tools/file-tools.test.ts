import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makeToolContext } from '../../testing/harness.ts';
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

test('write_file adds to the end of a file, in its encoding and with its line ends', async (t) => {
  const dir = tempDir(t);
  const context = makeToolContext({ dir, files: anchoredFiles(dir, false) });
  const write = fileTools()[1];
  const add = async (before: string | undefined, content: string): Promise<string> => {
    if (before !== undefined) writeFileSync(join(dir, 'a.txt'), before, 'latin1');
    const result = await write?.run({ path: 'a.txt', content, append: true }, context);
    return result?.ok ? readFileSync(join(dir, 'a.txt'), 'latin1') : String(result?.output);
  };
  assert.equal(await add(undefined, 'one\n'), 'one\n');
  assert.equal(await add(undefined, 'two\n'), 'one\ntwo\n');
  assert.equal(await add('a\r\n', 'b\nc\n'), 'a\r\nb\r\nc\r\n');
  assert.equal(await add('gr\u00fcn\n', 'r\u00f6tlich\n'), 'gr\u00fcn\nr\u00f6tlich\n');
  assert.match(await add('gr\u00fcn\n', '\u2192'), /is in Windows-1252, which lacks characters of content/);
  assert.match(await add('a'.repeat(8 * 1024 * 1024), 'b'), /at most 8388608 bytes/);
});

test('a parameter that would change what a call does is not dropped', async (t) => {
  const dir = tempDir(t);
  const context = makeToolContext({ dir, files: anchoredFiles(dir, false) });
  const [, write, edit] = fileTools();
  const call = async (tool: typeof write, input: object): Promise<string> => {
    writeFileSync(join(dir, 'a.txt'), 'old\n');
    const result = await tool?.run({ path: 'a.txt', ...input }, context);
    const after = readFileSync(join(dir, 'a.txt'), 'utf8');
    assert.equal(after !== 'old\n', result?.ok, JSON.stringify(input));
    return result?.ok ? after : String(result?.output);
  };
  const refused = [
    await call(write, { content: 'x', mode: 'append' }),
    await call(write, { content: 'x', overwrite: false }),
    await call(write, { content: 'x', overwrite: 'false' }),
    await call(edit, { old_text: 'old', new_text: 'x', dryRun: true }),
    await call(edit, { edits: [{ old_text: 'old', new_text: 'x', expected_replacements: 3 }] }),
    await call(edit, JSON.parse('{"old_text":"o.*","new_text":"x","regex":true}')),
  ];
  for (const said of refused) assert.match(said, /^wrong input: \S+ is not supported: \w+/);
  assert.match(refused[0] ?? '', /with append: true/);
  assert.match(refused[4] ?? '', /: edits\[0\]\.expected_replacements is not/);
  const same = { mode: 'w', overwrite: true, dry_run: false, description: 'why' };
  assert.equal(await call(write, { content: 'x', ...same }), 'x');
  const once = { dry_run: null, expected_replacements: '1', regex: false };
  assert.equal(await call(edit, { old_text: 'old', new_text: 'x', ...once }), 'x\n');
  const understood = edit?.readInput?.({ path: 'a.txt', old_text: 'a', new_text: 'b', dry_run: true });
  assert.match(understood?.problem ?? '', /^dry_run is not supported/);
});

test('read_file understands the ranges of other agents', async (t) => {
  const dir = tempDir(t);
  const context = makeToolContext({ dir, files: anchoredFiles(dir, false) });
  const [read] = fileTools();
  writeFileSync(join(dir, 'a.txt'), '1\n2\n3\n4\n5\n');
  const lines = async (input: object): Promise<string> => {
    const result = await read?.run({ path: 'a.txt', ...input }, context);
    return JSON.stringify(result?.output);
  };
  assert.match(await lines({ view_range: [2, 3] }), /"content":"2\\n3"/);
  assert.match(await lines({ view_range: [4, -1] }), /"content":"4\\n5"/);
  assert.match(await lines({ start_line: 2, end_line: '4' }), /"content":"2\\n3\\n4"/);
  assert.match(await lines({ start_line: 4, end_line: 9000 }), /"content":"4\\n5"/);
  assert.match(await lines({ start_line: 5 }), /"content":"5"/);
  assert.match(
    await lines({ offset: 1, limit: 1, view_range: [2, 3] }),
    /"content":"1".*ignored: view_range/,
  );
  const understood = read?.readInput?.({ file_path: 'a.txt', view_range: [2, 3] });
  assert.deepEqual(understood?.input, { path: 'a.txt', offset: 2, limit: 2 });
  assert.match(understood?.notes.join() ?? '', /^view_range is read as offset and limit/);
  assert.match(await lines({ view_range: [3, 2] }), /ignored: view_range/);
});
