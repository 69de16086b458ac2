import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, type ToolResult } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { anchoredFiles, hasCode } from '@hermes-fleet/workspace';
import { makeToolContext } from '../../testing/harness.ts';
import { fileTools } from './file-tools.ts';
import { listFilesTool } from './find-files.ts';

function makeTree(t: TestContext): { root: string; outside: string } {
  const base = tempDir(t);
  const [root, outside] = [join(base, 'ws'), join(base, 'ws-evil')];
  for (const directory of [root, outside, join(root, 'dir'), join(root, '.git')]) mkdirSync(directory);
  writeFileSync(join(outside, 'secret'), 'top secret');
  writeFileSync(join(root, 'dir/file'), 'inside');
  symlinkSync(outside, join(root, 'out'));
  symlinkSync(join(outside, 'secret'), join(root, 'leak'));
  symlinkSync(join(outside, 'new'), join(root, 'dangling'));
  symlinkSync('dir', join(root, 'alias'));
  symlinkSync('.git', join(root, 'dotgit'));
  symlinkSync('loop', join(root, 'loop'));
  execFileSync('mkfifo', [join(root, 'pipe')]);
  return { root, outside };
}

function toolsOn(root: string, files = anchoredFiles(root, false)) {
  const context = makeToolContext({ dir: root, files });
  const tools = new Map(
    [...fileTools(), listFilesTool({ clock: systemClock })].map((tool) => [tool.name, tool]),
  );
  return async (name: string, input: unknown): Promise<ToolResult> => {
    const tool = tools.get(name);
    assert.ok(tool);
    return tool.run(input, context);
  };
}

const REFUSED: readonly (readonly [string, (outside: string, root: string) => string])[] = [
  ['a parent', () => '../ws-evil/secret'],
  ['a parent after a detour', () => 'dir/../../ws-evil/secret'],
  ['an absolute path', (outside) => join(outside, 'secret')],
  ['a prefix twin', (_, root) => `${root}-evil/secret`],
  ['a system file', () => '/etc/passwd'],
  ['a symlink to a file outside', () => 'leak'],
  ['a symlinked parent', () => 'out/secret'],
  ['a new file below a symlinked parent', () => 'out/new'],
  ['a new directory below a symlinked parent', () => 'out/a/b/new'],
  ['a dangling symlink', () => 'dangling'],
  ['a symlink loop', () => 'loop'],
  ['a null byte', () => 'dir/file\0.txt'],
  ['a path that is too long', () => 'x/'.repeat(3000)],
  ['a name that is too long', () => 'y'.repeat(300)],
  ['the repository', () => '.git/config'],
  ['the repository in capitals', () => 'dir/.GIT/config'],
  ['a symlink to the repository', () => 'dotgit/config'],
  ['the workspace itself', () => '.'],
  ['a directory', () => 'dir'],
  ['a pipe', () => 'pipe'],
  ['below a file', () => 'dir/file/x'],
];

for (const [what, path] of REFUSED) {
  test(`file tools refuse ${what}`, async (t) => {
    const { root, outside } = makeTree(t);
    const call = toolsOn(root);
    const asked = path(outside, root);
    for (const result of [
      await call('read_file', { path: asked }),
      await call('write_file', { path: asked, content: 'planted' }),
      await call('edit_file', { path: asked, old_text: 'secret', new_text: 'planted' }),
    ]) {
      assert.equal(result.ok, false, JSON.stringify(result));
      assert.equal(typeof result.output, 'string');
      assert.doesNotMatch(JSON.stringify(result.output), /top secret/);
    }
    assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'top secret');
    assert.deepEqual(
      ['new', 'a'].filter((name) => existsSync(join(outside, name))),
      [],
    );
  });
}

/** Paths that are not written as paths in the workspace, and what the error says. */
const MISWRITTEN: readonly (readonly [path: (root: string) => string, error: RegExp])[] = [
  [() => '~/notes.md', /^"~\/notes\.md": paths are relative to the workspace: write notes\.md$/],
  [() => '~//a/../b.md', /: write b\.md$/],
  [() => '~', /: write \.$/],
  [() => ' ~/b.md', /: write b\.md$/],
  [() => './~/b.md', /: write b\.md$/],
  [() => 'file://a/b.md', /: write a\/b\.md$/],
  [(root) => `FILE://${root}/a/b.md`, /: write a\/b\.md$/],
  [() => 'file:///etc/passwd', /^the path leads out of the workspace/],
  [() => '~/../x', /^the path leads out of the workspace/],
  [() => 'a/b.md/', /^"a\/b\.md\/": the path of a file does not end with a slash: write a\/b\.md$/],
  [(root) => `${root}/new//`, /: write new$/],
];

for (const [path, error] of MISWRITTEN)
  test(`file tools refuse ${path('<root>')}, say what to write, and make nothing`, async (t) => {
    const { root } = makeTree(t);
    const before = readdirSync(root);
    const call = toolsOn(root);
    const asked = path(root);
    for (const [name, more] of [
      ['write_file', { content: 'x' }],
      ['read_file', {}],
      ['edit_file', { old_text: 'a', new_text: 'b' }],
      ...(asked.endsWith('/') ? [] : [['list_files', {}] as const]),
    ] as const) {
      const { ok, output } = await call(name, { path: asked, ...more });
      assert.equal(ok, false);
      assert.match(String(output), error, name);
    }
    assert.deepEqual(readdirSync(root), before);
  });

test('names that only look like those of another place are names, and a folder may end with a slash', async (t) => {
  const { root } = makeTree(t);
  const call = toolsOn(root);
  for (const path of ['~notes.md', 'a~', 'dir/~/x', 'file:/x', 'files/x'])
    assert.equal((await call('write_file', { path, content: 'x' })).ok, true, path);
  for (const path of ['dir/', './', `${root}/`, join(root, 'dir/')])
    assert.equal((await call('list_files', { path })).ok, true, path);
});

test('file tools accept paths that stay inside the workspace, also through symlinks', async (t) => {
  const { root } = makeTree(t);
  const call = toolsOn(root);
  for (const path of ['dir/file', './dir//file', 'alias/file', 'dir/../dir/file', join(root, 'dir/file')]) {
    const result = await call('read_file', { path });
    assert.deepEqual(result.output, { content: 'inside', lines: 1 }, path);
  }
  assert.equal((await call('write_file', { path: 'alias/deep/er/new', content: 'x' })).ok, true);
  assert.equal(readFileSync(join(root, 'dir/deep/er/new'), 'utf8'), 'x');
  const list = await call('list_files', {});
  assert.deepEqual(list.output, {
    entries: [
      'alias',
      'dangling',
      'dir/',
      'dir/deep/',
      'dir/deep/er/',
      'dir/file',
      'dotgit',
      'leak',
      'loop',
      'out',
      'pipe',
    ],
  });
  assert.equal((await call('list_files', { path: 'out' })).ok, false);
});

test('list_files lists the other directories when one cannot be entered', async (t) => {
  const { root } = makeTree(t);
  const files = anchoredFiles(root, false);
  const enter: typeof files.enter = async (directory, name) => {
    if (name === 'locked') throw Object.assign(new Error('EACCES'), { code: 'EACCES' });
    return files.enter(directory, name);
  };
  mkdirSync(join(root, 'locked'));
  const { output } = await toolsOn(root, { ...files, enter })('list_files', {});
  assert.match(JSON.stringify(output), /"dir\/file".*"locked\/"/);
});

test('file tools never leave the workspace while a directory keeps turning into a symlink', async (t) => {
  const { root, outside } = makeTree(t);
  const call = toolsOn(root);
  let stop = false;
  /** Renames, and replaces anything that a concurrent write made at the target. */
  const move = (from: string, to: string): void => {
    for (;;) {
      rmSync(join(root, to), { recursive: true, force: true });
      try {
        renameSync(join(root, from), join(root, to));
        return;
      } catch (error) {
        if (!hasCode(error, 'EISDIR', 'ENOTEMPTY')) throw error;
      }
    }
  };
  const swapping = (async () => {
    symlinkSync(outside, join(root, 'trap'));
    for (let turn = 0; !stop; turn += 1) {
      move('dir', 'aside');
      move('trap', 'dir');
      if (turn % 2 === 0) await nextTurn();
      move('dir', 'trap');
      move('aside', 'dir');
      await nextTurn();
    }
  })();
  for (let turn = 0; turn < 300; turn += 1) {
    const read = await call('read_file', { path: 'dir/secret' });
    assert.doesNotMatch(JSON.stringify(read.output), /top secret/);
    await call('write_file', { path: `dir/new${turn}`, content: 'planted' });
  }
  stop = true;
  await swapping;
  const planted = execFileSync('ls', [outside], { encoding: 'utf8' });
  assert.equal(planted, 'secret\n');
});

test('reads are paged, edits match exactly, and errors explain the mistake', async (t) => {
  const { root } = makeTree(t);
  const call = toolsOn(root);
  const lines = Array.from({ length: 1200 }, (_, index) => `line ${index + 1}\n`).join('');
  await call('write_file', { path: 'long.txt', content: lines });
  const page = await call('read_file', { path: 'long.txt', offset: 500, limit: 2 });
  assert.deepEqual(page.output, { content: 'line 500\nline 501', lines: 1200, read_on_at: 502 });
  assert.equal(
    (await call('edit_file', { path: 'long.txt', old_text: 'line 7\n', new_text: 'seven\n' })).ok,
    true,
  );
  const many = await call('edit_file', { path: 'long.txt', old_text: 'line', new_text: 'x' });
  assert.match(String(many.output), /occurs 1199 times/);
  const none = await call('edit_file', { path: 'long.txt', old_text: 'nowhere', new_text: 'x' });
  assert.match(String(none.output), /does not occur/);
  const dollars = await call('edit_file', { path: 'long.txt', old_text: 'seven', new_text: '$& $1' });
  assert.equal(dollars.ok, true);
  assert.match(readFileSync(join(root, 'long.txt'), 'utf8'), /\n\$& \$1\n/);
  assert.match(String((await call('read_file', { path: 'absent' })).output), /no such file/);
  assert.match(String((await call('read_file', { of: 'x' })).output), /wrong input/);
  writeFileSync(join(root, 'binary'), Buffer.from([1, 0, 2]));
  assert.match(String((await call('read_file', { path: 'binary' })).output), /binary/);
});
