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
