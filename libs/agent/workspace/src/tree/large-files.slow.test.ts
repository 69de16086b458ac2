import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { makePlace, mayChangeUsers, openTestContexts } from '../../testing/index.ts';

/** A user's repository with files that are too large for a result, and an open workspace for it. */
async function openLarge(t: TestContext) {
  const place = makePlace(t);
  const path = join(realpathSync(join(place.stateDir, '..')), 'project');
  mkdirSync(path);
  const sh = (script: string): string =>
    execFileSync('/bin/sh', ['-c', script], { cwd: path, encoding: 'utf8', stdio: 'pipe' });
  const commit = 'git add -A; git -c user.name=u -c user.email=u@localhost commit -qm x';
  sh(`git init -q -b main; truncate -s 101M "big [1].bin"; mkdir d; truncate -s 101M d/old; ${commit}`);
  if (mayChangeUsers) sh('chmod -R a+rX .');
  return { place, path, contexts: await openTestContexts(t, { place, path }) };
}

const BREAK = 'rm -rf .git/objects .git/refs';

test('a large file of the base is not named to a task that did not change it, also when the repository is made anew', async (t) => {
  const { contexts, place } = await openLarge(t);
  const broken = await contexts.task('one', `echo 1 > a.txt; ${BREAK}`);
  assert.deepEqual([broken.changed, broken.left], [['a.txt'], undefined]);
  const next = await contexts.task('one', 'git status --porcelain; echo 2 > b.txt');
  assert.deepEqual([next.stdout, next.changed, next.left], ['', ['b.txt'], undefined]);

  rmSync(join(place.workspaceRoot, 'base.git'), { recursive: true });
  const again = await (await contexts.restart()).task('one', 'echo 3 > c.txt');
  assert.deepEqual([again.changed, again.left], [['c.txt'], undefined]);
});

test('a large file of the base that a task changes stays as it was in the result, and is named; the rest is taken', async (t) => {
  const { contexts } = await openLarge(t);
  const script = 'echo x >> "big [1].bin"; rm d/old; truncate -s 102M new; echo 1 > a.txt';
  const changed = await contexts.task('one', script);
  assert.deepEqual(changed.changed, ['a.txt', 'd/old']);
  assert.match(changed.left ?? '', /^commit (big \[1\]\.bin, new|new, big \[1\]\.bin): larger than 100 MiB$/);
  const next = await contexts.task('one', 'tail -c 2 "big [1].bin"; echo 2 > b.txt');
  assert.deepEqual([next.stdout, next.changed], ['x\n', ['b.txt']]);
});

test('a file that was too large is part of the result once it is not any more, also when it is of the base', async (t) => {
  const { contexts } = await openLarge(t);
  await contexts.task('one', 'echo x >> "big [1].bin"; truncate -s 102M "new [2]" other');
  const shrunk = await contexts.task(
    'one',
    'echo 1 > "big [1].bin"; echo 2 > "new [2]"; truncate -s 102M more',
  );
  assert.deepEqual(shrunk.changed, ['big [1].bin', 'new [2]']);
  assert.match(shrunk.left ?? '', /^commit (more, other|other, more): larger than 100 MiB$/);
  const removed = await contexts.task('one', 'rm "big [1].bin" other more; echo 3 > other');
  assert.deepEqual([removed.changed, removed.left], [['big [1].bin', 'other'], undefined]);
});
