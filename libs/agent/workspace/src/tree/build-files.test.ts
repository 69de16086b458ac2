import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { mayChangeUsers, openTestContexts } from '../../testing/index.ts';
import { COMMAND_GID, COMMAND_UID } from '../confinement/command-user.ts';

/** Makes a repository with these files in its commit, which the commands' user may change. */
function project(t: TestContext, files: readonly string[]): string {
  const path = tempDir(t);
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-C', path, '-c', 'user.name=u', '-c', 'user.email=u@localhost', ...args]);
  git('init', '-q');
  for (const file of files) {
    mkdirSync(join(path, dirname(file)), { recursive: true });
    writeFileSync(join(path, file), file.endsWith('.gitignore') ? '!/kept/__pycache__\n' : '1\n');
  }
  git('add', '-f', '.');
  git('commit', '-q', '-m', 'Files');
  execFileSync('chmod', ['755', path]);
  if (mayChangeUsers) execFileSync('chown', ['-R', `${COMMAND_UID}:${COMMAND_GID}`, path]);
  if (mayChangeUsers) chownSync(path, COMMAND_UID, COMMAND_GID);
  return path;
}

const TAG = 'Signature: 8a477f597d28d172789f06886806bc55';
/** Leaves what builds leave, and files that only look so. */
const BUILD = `set -e
for folder in node_modules/a a/b/__pycache__ .venv/bin .pytest_cache src dist target/debug odd; do mkdir -p $folder; echo 2 > $folder/new; done
for folder in target 'a[1]'; do mkdir -p "$folder"; echo "${TAG} and more" > "$folder/CACHEDIR.TAG"; echo 2 > "$folder/new"; done
echo ${TAG} > CACHEDIR.TAG; echo no tag > odd/CACHEDIR.TAG; ln -s node_modules link`;
const COMMITTED = ['CACHEDIR.TAG', 'dist/new', 'link', 'odd/CACHEDIR.TAG', 'odd/new', 'src/new'];

for (const isolation of ['worktree', 'in_place'] as const) {
  test(`what a build leaves is not committed, and a task begins clean beside it: ${isolation}`, async (t) => {
    const contexts = await openTestContexts(t, { path: project(t, ['README.md']), isolation });
    const built = await contexts.task('one', BUILD);
    assert.deepEqual([built.changed, built.left], [COMMITTED, undefined], built.stderr);
    await using workspace = await contexts.open('one');
    const begun = await workspace.begin(true);
    assert.ok('base' in begun, 'refused' in begun ? begun.refused.detail : '');
    await contexts.sh(workspace, 'echo 3 > node_modules/a/new; echo 3 > target/new');
    assert.equal(await workspace.diffSince(begun.base, 1000), '');
    assert.deepEqual((await workspace.commit('Task')).left, []);
    assert.deepEqual(await workspace.changedSince(begun.base), []);
  });

  test(`a repository that tracks such folders keeps them, with new files there: ${isolation}`, async (t) => {
    const tracked = [
      ...['web/node_modules/a/index.js', 'web/node_modules/a/node_modules/b/index.js'],
      ...['odd [x]/node_modules/index.js', '.gitignore', 'cache/CACHEDIR.TAG'],
    ];
    const contexts = await openTestContexts(t, { path: project(t, tracked), isolation });
    const { changed, stderr } = await contexts.task(
      'one',
      `set -e; echo '${TAG}' > cache/CACHEDIR.TAG
      mkdir -p kept/__pycache__ node_modules web/node_modules/c/node_modules/d web/src/node_modules
      for folder in cache kept/__pycache__ node_modules web/node_modules/c/node_modules/d web/src/node_modules 'odd [x]/node_modules'; do
        echo 2 > "$folder/new"; done
      echo 2 > web/node_modules/a/index.js`,
    );
    assert.deepEqual(
      changed,
      [
        ...['cache/CACHEDIR.TAG', 'cache/new', 'kept/__pycache__/new', 'odd [x]/node_modules/new'],
        ...['web/node_modules/a/index.js', 'web/node_modules/c/node_modules/d/new'],
      ],
      stderr,
    );
  });
}

test('a task that adds such a file to the index has it in its result', async (t) => {
  const contexts = await openTestContexts(t);
  const add =
    'mkdir node_modules; echo 1 > node_modules/a; echo 1 > node_modules/b; git add -f node_modules/a';
  assert.deepEqual((await contexts.task('one', add)).changed, ['node_modules/a']);
});

test('a repository that a task broke is made anew without what builds left, whatever its size', async (t) => {
  const contexts = await openTestContexts(t);
  const { changed, left } = await contexts.task(
    'one',
    'mkdir node_modules; truncate -s 101M node_modules/large; echo 1 > a; rm -rf .git',
  );
  assert.deepEqual([changed, left], [['a'], undefined]);
});
