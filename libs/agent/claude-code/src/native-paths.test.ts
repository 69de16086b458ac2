import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { anchoredFiles } from '@hermes-fleet/workspace';
import { makePlace } from '@hermes-fleet/workspace/testing';
import { checkNativePaths } from './native-paths.ts';
import { nativeCall } from './native-tools.ts';

test("no path, pattern or link of Claude Code's own tools leads out of the workspace", async (t) => {
  const { workspaceRoot: root, stateDir } = makePlace(t);
  mkdirSync(join(root, 'src'), { recursive: true });
  writeFileSync(join(root, 'src/a.ts'), 'a');
  symlinkSync('src/a.ts', join(root, 'inner'));
  symlinkSync(stateDir, join(root, 'state'));
  symlinkSync(join(stateDir, 'token'), join(root, 'token'));
  symlinkSync(join(stateDir, 'new'), join(root, 'dangling'));
  const files = anchoredFiles(root, false);
  const check = async (name: string, input: object): Promise<void> =>
    checkNativePaths(files, nativeCall(name, input) ?? assert.fail(name));
  for (const [name, input] of [
    ['Read', { file_path: 'src/a.ts' }],
    ['Read', { file_path: join(root, 'inner') }],
    ['Write', { file_path: 'new/deep/b.ts', content: '' }],
    ['Glob', { pattern: '**/*.ts' }],
    ['Glob', { pattern: `${root}/src/*`, path: ' src ' }],
    ['Grep', { pattern: '/etc/passwd', path: 'src' }],
  ] as const)
    await check(name, input);
  for (const [name, input] of [
    ['Read', { file_path: 'token' }],
    ['Read', { file_path: 'state/ledger.db' }],
    ['Read', { file_path: ' /etc/passwd' }],
    ['Read', { file_path: '~/x' }],
    ['Write', { file_path: 'dangling', content: '' }],
    ['Write', { file_path: 'state/new/c.ts', content: '' }],
    ['Edit', { file_path: '../src', old_string: 'a', new_string: 'b' }],
    ['Grep', { pattern: 'x', path: ' /etc ' }],
    ['Grep', { pattern: 'x', path: '~/..' }],
    ['Glob', { pattern: '/etc/*' }],
    ['Glob', { pattern: '/*' }],
    ['Glob', { pattern: ' /etc/passwd' }],
    ['Glob', { pattern: '../*' }],
    ['Glob', { pattern: 'state/*' }],
    ['Glob', { pattern: '~/*' }],
    ['Glob', { pattern: '*', path: 'state' }],
  ] as const)
    await assert.rejects(check(name, input), { name: 'ToolError' }, JSON.stringify(input));
});
