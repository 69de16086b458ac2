import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  CONTEXT,
  commit,
  done,
  git,
  newRepository,
  refused,
  resultsScene,
  stateOf,
  TASK,
} from '../../testing/results-stub.ts';

const BRANCH = 'fleet/5eedc0de';

const at = (dir: string, name = BRANCH): string => git(dir, 'rev-parse', '--verify', `refs/heads/${name}`);

test('pull makes a branch for the context, and a later task moves it on', async (t) => {
  const scene = await resultsScene(t);
  const { mine, start, tmp, asked } = scene;
  const first = scene.work({ 'b.txt': 'b\n' });
  const before = stateOf(mine).slice(1);
  const said = done(await scene.run(mine, 'pull'));
  assert.equal(
    said,
    `made the branch ${BRANCH} at ${first.slice(0, 12)}\nto see it: git log -p ..${BRANCH}\nto take it: git merge ${BRANCH}\n`,
  );
  assert.deepEqual([at(mine), stateOf(mine).slice(1), readdirSync(tmp)], [first, before, []]);
  git(mine, 'fsck', '--strict');

  const again = done(await scene.run(mine, 'pull'));
  assert.match(again, new RegExp(`^the branch ${BRANCH} has the result at ${first.slice(0, 12)} already\n`));
  assert.equal(asked.length, 1, 'what is there is not asked for');

  const second = scene.work({ 'c.txt': 'c\n' });
  const document = JSON.parse(done(await scene.run(mine, 'pull', '--json')));
  assert.deepEqual(document, {
    ...{ id: TASK, profile: 'neo', branch: `fleet/${CONTEXT}`, base: first, commit: second },
    pulled: { branch: BRANCH, before: first, state: 'moved' },
  });
  assert.equal(at(mine), second);
  scene.told.delivery = { commit: first, base: start };
  assert.match(done(await scene.run(mine, 'pull')), /has the result at .* already/);
  assert.equal(at(mine), second, 'an earlier task moves nothing back');
  git(mine, 'merge', '--quiet', BRANCH);
  assert.equal(readFileSync(join(mine, 'c.txt'), 'utf8'), 'c\n');
});

test('a branch with other commits, one that is checked out, and an impossible name are refused', async (t) => {
  const scene = await resultsScene(t);
  const { mine, root } = scene;
  scene.work({ 'b.txt': 'b\n' });
  git(mine, 'branch', 'other');
  git(mine, 'switch', '--quiet', 'other');
  const own = commit(mine, { 'own.txt': 'own\n' });
  git(mine, 'switch', '--quiet', 'main');
  await refused(
    scene,
    mine,
    new RegExp(`the branch other is at ${own.slice(0, 12)}, which .* --branch\n$`),
    '--branch',
    'other',
  );
  await refused(
    scene,
    mine,
    /the branch main is checked out in \S+mine, .*switch to another/,
    '--branch',
    'main',
  );
  git(mine, 'branch', 'free');
  git(mine, 'worktree', 'add', '--quiet', join(root, 'linked'), 'free');
  await refused(scene, mine, /the branch free is checked out in \S+linked, /, '--branch', 'free');
  await refused(scene, mine, /--branch takes the name of a branch without refs/, '--branch', 'refs/heads/q');
  for (const name of ['a..b', '-x=', '@{-1}', 'x.lock'])
    await refused(scene, mine, /--branch: git takes no branch named /, `--branch=${name}`);
  git(mine, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main');
  await refused(scene, mine, /alias is another name of refs\/heads\/main/, '--branch', 'alias');
  const lock = join(mine, '.git/refs/heads/locked.lock');
  writeFileSync(lock, '');
  await refused(
    scene,
    mine,
    /the branch locked cannot be written: .*\.lock': File exists\. Another git process .* continue\.\n/,
    '--branch',
    'locked',
  );
  rmSync(lock);
  git(mine, 'branch', 'fleet');
  await refused(
    scene,
    mine,
    /the branch fleet\/5eedc0de cannot be written; --branch names another one: .*'refs\/heads\/fleet' exists/,
  );
  assert.match(
    done(await scene.run(join(root, 'linked'), 'pull', '--branch', 'mine/too')),
    /^made the branch mine\/too/,
  );
});

test('an empty repository takes all of the history, and a bare one and a shallow one take what they lack', async (t) => {
  const scene = await resultsScene(t);
  const { root, mine, asked } = scene;
  const result = scene.work({ 'b.txt': 'b\n' });
  const empty = join(root, 'empty');
  git(root, 'init', '--quiet', '--initial-branch=main', empty);
  await refused(scene, empty, /the branch main is checked out in/, '--branch', 'main');
  await refused(scene, empty, /--apply needs a commit/, '--apply');
  assert.match(
    done(await scene.run(empty, 'pull')),
    /\nto see it: git log -p fleet\/5eedc0de\nto take it: git switch/,
  );
  assert.deepEqual([at(empty), asked.at(-1)], [result, `/fleet/tasks/${TASK}/bundle?whole=true`]);
  const bare = join(root, 'bare.git');
  git(root, 'clone', '--quiet', '--bare', mine, bare);
  assert.match(done(await scene.run(bare, 'pull')), /\nto see it: git log -p \.\.fleet\/5eedc0de\n$/);
  assert.equal(at(bare), result);
  const shallow = join(root, 'a "shallow": one');
  git(root, 'clone', '--quiet', '--depth=1', `file://${mine}`, shallow);
  done(await scene.run(shallow, 'pull'));
  assert.equal(at(shallow), result);
  git(mine, 'switch', '--quiet', '--orphan', 'unborn');
  assert.match(
    done(await scene.run(mine, 'pull')),
    /\nto see it: git log -p fleet\/5eedc0de\nto take it: git merge/,
  );
  git(mine, 'switch', '--quiet', 'main');
  commit(mine, { 'later.txt': 'x' });
  const late = join(root, 'late');
  git(root, 'clone', '--quiet', '--depth=1', `file://${mine}`, late);
  await refused(scene, late, /does not have the commit [0-9a-f]{40}, .*git fetch --unshallow/);
});

test('a partial clone takes a result, and one of SHA-256 and a result in it are refused', async (t) => {
  const scene = await resultsScene(t);
  const { root, mine, told } = scene;
  commit(mine, { 'dir/same.txt': 'same\n', 'dir/b.txt': 'b\n' });
  git(scene.worker, 'pull', '--quiet', mine, 'main');
  const result = scene.work({ 'dir/b.txt': 'other\n' });
  git(mine, 'config', 'uploadpack.allowFilter', 'true');
  const partial = join(root, 'partial');
  git(root, 'clone', '--quiet', '--filter=blob:none', '--no-checkout', `file://${mine}`, partial);
  done(await scene.run(partial, 'pull'));
  assert.equal(at(partial), result);
  assert.equal(git(partial, 'show', `${BRANCH}:dir/same.txt`), 'same');
  git(partial, 'fsck', '--strict');
  const other = join(root, 'sha256');
  git(root, 'init', '--quiet', '--object-format=sha256', other);
  await refused(scene, other, /has commits of SHA-256, and the fleet those of SHA-1: take the result in /);
  told.delivery = { commit: 'a'.repeat(64) };
  await refused(scene, mine, /neo names a commit of task \S+ that is none\n/);
});

test('a late result is taken', async (t) => {
  const scene = await resultsScene(t);
  const { mine, told } = scene;
  const result = scene.work({ 'b.txt': 'b\n' });
  told.artifacts = { files_changed: [], delivery: undefined };
  told.late = true;
  assert.match((await scene.run(mine, 'task')).stdout, /\nto take it: fleet pull /);
  done(await scene.run(mine, 'pull'));
  assert.equal(at(mine), result);
});

test('folders that killed commands of this user left are removed after a day', async (t) => {
  const scene = await resultsScene(t);
  const { mine, tmp } = scene;
  scene.work({ 'b.txt': 'b\n' });
  const old = new Date(Date.now() - 25 * 3_600_000);
  for (const name of ['fleet-git-old', 'fleet-git-new', 'fleet-other'])
    mkdirSync(join(tmp, name, 'objects'), { recursive: true });
  for (const name of ['fleet-git-old', 'fleet-other']) utimesSync(join(tmp, name), old, old);
  done(await scene.run(mine, 'pull'));
  assert.deepEqual(readdirSync(tmp).sort(), ['fleet-git-new', 'fleet-other']);
});

test('a folder without the start of the work, without a repository or without git is named', async (t) => {
  const scene = await resultsScene(t);
  const { root, start, tmp } = scene;
  scene.work({ 'b.txt': 'b\n' });
  const other = newRepository(join(root, 'other'));
  commit(other, { 'other.txt': 'x' });
  git(other, 'commit', '--quiet', '--amend', '--message', 'Another first commit');
  git(other, 'checkout', '--quiet', '--orphan', 'new');
  commit(other, { 'n.txt': 'n' });
  git(other, 'branch', '--quiet', '-D', 'main');
  git(other, 'reflog', 'expire', '--expire=now', '--all');
  git(other, 'gc', '--quiet', '--prune=now');
  await refused(
    scene,
    other,
    new RegExp(`does not have the commit ${start}, which .* run this in the repository that`),
  );
  const plain = join(root, 'plain');
  mkdirSync(plain);
  const outside = await scene.run(plain, 'pull');
  assert.deepEqual([outside.code, readdirSync(tmp)], [1, []]);
  assert.match(
    outside.stderr,
    /^fleet: \S+plain is in no repository that git takes \(not a git repository.*\n$/,
  );
  scene.env.PATH = plain;
  const without = await scene.run(plain, 'pull');
  assert.match(without.stderr, /^fleet: git cannot be run in \S+ \(ENOENT\): is it installed\?\n$/);
});
