import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commit, done, git, refused, resultsScene } from '../../testing/results-stub.ts';

test('--apply stages the changes of the task by a three-way merge, and is done again without effect', async (t) => {
  const scene = await resultsScene(t);
  const { mine, tmp } = scene;
  scene.work({ 'earlier.txt': 'not of this task' });
  const binary = Buffer.from([0, 1, 2, 255]);
  scene.work({ 'a.txt': 'one\ntwo\nthree\nfour\n', 'deep/new\nname.bin': binary });
  const own = commit(mine, { 'a.txt': 'zero\none\ntwo\nthree\n', 'sub/own.txt': 'x' });
  git(mine, 'config', 'diff.noprefix', 'true');
  git(mine, 'config', 'apply.whitespace', 'error');
  const said = done(await scene.run(join(mine, 'sub'), 'pull', '--apply'));
  assert.match(said, /^2 changed files staged in \S+mine\nto see it: git diff --staged\n/);
  assert.equal(readFileSync(join(mine, 'a.txt'), 'utf8'), 'zero\none\ntwo\nthree\nfour\n');
  assert.deepEqual(readFileSync(join(mine, 'deep/new\nname.bin')), binary);
  assert.equal(git(mine, 'status', '--porcelain', '-z'), 'M  a.txt\0A  deep/new\nname.bin\0');
  assert.deepEqual([git(mine, 'rev-parse', 'HEAD'), readdirSync(tmp)], [own, []]);
  assert.equal(git(mine, 'for-each-ref'), git(mine, 'for-each-ref', 'refs/heads/main'));
  git(mine, 'commit', '--quiet', '--message', 'Take it');
  assert.match(done(await scene.run(mine, 'pull', '--apply')), /has these changes already\n$/);
});

test('--apply refuses a tree with changes, a conflict and a file in the way, and changes nothing', async (t) => {
  const scene = await resultsScene(t);
  const { mine, root } = scene;
  scene.work({ 'a.txt': 'one\nTWO\nthree\n', 'b.txt': 'theirs\n', 'c.txt': 'c\n' });
  commit(mine, { 'a.txt': 'one\n2\nthree\n', 'x\ny': 'x' });
  await refused(
    scene,
    mine,
    /conflict with yours in a\.txt: nothing was changed; without --apply they become/,
    '--apply',
  );
  writeFileSync(join(mine, 'x\ny'), 'changed');
  git(mine, 'rm', '--quiet', '--cached', 'a.txt');
  await refused(
    scene,
    mine,
    /a\.txt, x\ufffdy in \S+mine changed since the last commit: commit or stash/,
    '--apply',
  );
  git(mine, 'reset', '--quiet', '--hard', 'HEAD~');
  writeFileSync(join(mine, 'b.txt'), 'mine, untracked\n');
  await refused(scene, mine, /the changes cannot be applied: .*b\.txt/, '--apply');
  assert.equal(readFileSync(join(mine, 'b.txt'), 'utf8'), 'mine, untracked\n');
  const bare = join(root, 'bare.git');
  git(root, 'clone', '--quiet', '--bare', mine, bare);
  await refused(scene, bare, /--apply needs a working tree/, '--apply');
});
