import assert from 'node:assert/strict';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
  assert.match(said, /^2 changed files staged in \S+mine\nthis continues .*\nto see it: git diff --staged\n/);
  assert.equal(readFileSync(join(mine, 'a.txt'), 'utf8'), 'zero\none\ntwo\nthree\nfour\n');
  assert.deepEqual(readFileSync(join(mine, 'deep/new\nname.bin')), binary);
  assert.equal(git(mine, 'status', '--porcelain', '-z'), 'M  a.txt\0A  deep/new\nname.bin\0');
  assert.deepEqual([git(mine, 'rev-parse', 'HEAD'), readdirSync(tmp)], [own, []]);
  assert.equal(git(mine, 'for-each-ref'), git(mine, 'for-each-ref', 'refs/heads/main'));
  git(mine, 'commit', '--quiet', '--message', 'Take it');
  assert.match(done(await scene.run(mine, 'pull', '--apply')), /has these changes already\n/);
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
  await refused(scene, mine, /b\.txt in \S+mine would be overwritten, and git does not have it: /, '--apply');
  assert.equal(readFileSync(join(mine, 'b.txt'), 'utf8'), 'mine, untracked\n');
  const bare = join(root, 'bare.git');
  git(root, 'clone', '--quiet', '--bare', mine, bare);
  await refused(scene, bare, /--apply needs a working tree/, '--apply');
});

test('--apply overwrites no ignored file, folder or link, and replaces tracked ones', async (t) => {
  const scene = await resultsScene(t);
  const { mine, worker, root } = scene;
  const start = commit(mine, {
    '.gitignore': '.env\nbuild\nlinked\nkept/x\n',
    file: 'f',
    'dir/in': 'i',
    'kept/y': 'y',
  });
  git(worker, 'pull', '--quiet', mine, 'main');
  git(worker, 'rm', '--quiet', '-r', 'file', 'dir', '.gitignore');
  scene.work({
    '.env': 'theirs',
    build: 'b',
    'linked/in': 'l',
    'file/in': 'f',
    dir: 'd',
    'kept/z': 'z',
    'build2/x': 'x',
  });
  mkdirSync(join(mine, 'build/deep'), { recursive: true });
  mkdirSync(join(mine, 'build2'));
  mkdirSync(join(root, 'elsewhere'));
  const own = ['.env', 'build/deep/own', 'kept/x'];
  for (const name of own) writeFileSync(join(mine, name), 'mine');
  symlinkSync(join(root, 'elsewhere'), join(mine, 'linked'));
  await refused(
    scene,
    mine,
    /\.env, build\/, linked in \S+mine would be overwritten, and git does not have them: nothing was changed/,
    '--apply',
  );
  for (const name of own) assert.equal(readFileSync(join(mine, name), 'utf8'), 'mine');
  assert.equal(readlinkSync(join(mine, 'linked')), join(root, 'elsewhere'));
  for (const name of ['.env', 'build', 'linked']) rmSync(join(mine, name), { recursive: true });
  assert.match(done(await scene.run(mine, 'pull', '--apply')), /^10 changed files staged/);
  assert.equal(readFileSync(join(mine, 'kept/x'), 'utf8'), 'mine');
  for (const name of ['.env', 'build', 'linked/in', 'file/in', 'dir', 'kept/z'])
    assert.equal(readFileSync(join(mine, name), 'utf8'), git(worker, 'show', `HEAD:${name}`), name);
  assert.equal(git(mine, 'rev-parse', 'HEAD'), start);
});

test('--apply says which earlier changes of the context it does not have', async (t) => {
  const scene = await resultsScene(t);
  const { mine } = scene;
  const first = scene.work({ 'b.txt': 'b\n' });
  scene.work({ 'c.txt': 'c\n' });
  const { applied } = JSON.parse(done(await scene.run(mine, 'pull', '--apply', '--json')));
  assert.deepEqual(applied, { tree: mine, files: ['c.txt'], continues: first });
  git(mine, 'reset', '--quiet', '--hard');
  assert.match(
    done(await scene.run(mine, 'pull', '--apply')),
    new RegExp(
      `staged in .*\nthis continues ${first.slice(0, 12)}, which is not in HEAD: its earlier changes are not included; fleet pull takes all\nto see it`,
    ),
  );
  git(mine, 'reset', '--quiet', '--hard');
  git(mine, 'merge', '--quiet', first);
  assert.doesNotMatch(done(await scene.run(mine, 'pull', '--apply')), /this continues/);
});

test('names with line breaks, names that differ in case only, links and binary files are shown and taken', async (t) => {
  const scene = await resultsScene(t);
  const { mine, worker } = scene;
  const binary = Buffer.from([0, 255, 10, 13, 0]);
  symlinkSync('a.txt', join(worker, 'link'));
  scene.work({ 'new\nline': 'n\n', 'Case.txt': 'upper\n', 'case.txt': 'lower\n', 'x.bin': binary });
  assert.equal((await scene.run(mine, 'show', 'new\nline')).stdout, 'n\n');
  assert.equal((await scene.run(mine, 'show', 'link')).stdout, 'a.txt');
  assert.equal((await scene.run(mine, 'show', 'case.txt')).stdout, 'lower\n');
  const diff = (await scene.run(mine, 'diff')).stdout;
  for (const line of ['"b/new\\nline"', 'b/Case.txt', 'b/case.txt', 'new file mode 120000', 'Binary files'])
    assert.ok(diff.includes(line), diff);
  done(await scene.run(mine, 'pull'));
  assert.equal(git(mine, 'diff', 'fleet/5eedc0de', git(worker, 'rev-parse', 'HEAD')), '');
  done(await scene.run(mine, 'pull', '--apply'));
  assert.equal(git(mine, 'write-tree'), git(worker, 'rev-parse', 'HEAD^{tree}'));
  assert.equal(git(mine, 'diff'), '', 'the files are those of the index');
  assert.deepEqual(readFileSync(join(mine, 'x.bin')), binary);
  assert.equal(readlinkSync(join(mine, 'link')), 'a.txt');
});
