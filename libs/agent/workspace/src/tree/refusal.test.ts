import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Contexts, openTestContexts } from '../../testing/index.ts';

/** A file that git commits and the gateway refuses. */
const HOSTILE = `printf '[submodule "x"]\\n\\tpath = x\\n\\turl = --upload-pack=x\\n' > .gitmodules`;
const REASON = /git refuses its objects: .*gitmodules/;

const git = ({ place }: Contexts, ...args: string[]): string =>
  execFileSync('git', ['-C', join(place.workspaceRoot, 'results.git'), ...args], { encoding: 'utf8' }).trim();

test('files of a refused result are named to the next tasks, with the reason, until they are gone', async (t) => {
  const contexts = await openTestContexts(t);
  const first = await contexts.task('a', `echo 1 > one.txt; ${HOSTILE}`);
  assert.match(first.left ?? '', /^commit the changes of context a: git refuses/);
  assert.match(first.left ?? '', REASON);
  assert.doesNotMatch(first.left ?? '', /earlier task/, 'it is its own work');
  assert.deepEqual(first.changed, []);

  const again = await contexts.restart();
  const second = await again.task('a', 'echo 2 > two.txt; cat one.txt');
  assert.deepEqual(second.changed, []);
  const [own, told, ...more] = second.left?.split('\n') ?? [];
  assert.match(own ?? '', /^commit the changes of context a/);
  assert.match(
    told ?? '',
    /^remove or mend \.gitmodules, one\.txt: left by an earlier task of this context, whose result was refused/,
  );
  assert.match(told ?? '', REASON);
  assert.deepEqual(more, []);

  const third = await again.task('a', 'rm .gitmodules; echo 3 > three.txt');
  assert.match(
    third.left ?? '',
    /^review \.gitmodules, one\.txt, two\.txt: left by an earlier .* part of the branch now$/,
  );
  assert.deepEqual(third.changed, ['one.txt', 'three.txt', 'two.txt']);
  const fourth = await again.task('a', 'echo 4 > four.txt');
  assert.deepEqual([fourth.left, fourth.changed], [undefined, ['four.txt']]);
});

test('work of a refused result that is taken before the next task is named, and is no change of that task', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('a', `echo 1 > one.txt; ${HOSTILE}`);
  const tree = join(contexts.place.workspaceRoot, 'contexts/a/tree');
  writeFileSync(join(tree, '.gitmodules'), '');
  const next = await contexts.task('a', 'echo 2 > two.txt');
  assert.match(next.left ?? '', /^review \.gitmodules, one\.txt: .* part of the branch now$/);
  assert.deepEqual(next.changed, ['two.txt']);
  assert.equal((await contexts.task('a', 'true')).left, undefined);
});

test('the record of a refusal belongs to the gateway, and a damaged one keeps no context closed', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('a', HOSTILE);
  const record = join(contexts.place.workspaceRoot, 'contexts/a/refused');
  await contexts.task('a', 'rm -f ../refused; echo x > ../refused');
  assert.match(readFileSync(record, 'utf8'), REASON);
  writeFileSync(record, '{"reason": "cut');
  const next = await contexts.task('a', 'rm .gitmodules; echo 1 > one.txt');
  assert.match(next.left ?? '', /^review the files of the tree: .*the record of the reason is damaged/);
  assert.ok(!existsSync(record));
});

test('a repository inside the tree is a commit without files in the result, which is named in each', async (t) => {
  const contexts = await openTestContexts(t);
  const commit = 'git -C sub add -A; git -C sub commit -q -m x';
  const first = await contexts.task('a', `git init -q sub; echo 1 > sub/file; ${commit}; echo 1 > one.txt`);
  assert.match(first.left ?? '', /^keep the files of sub: a git repository of its own/);
  assert.match(git(contexts, 'ls-tree', 'fleet/a'), /^160000 commit \w+\tsub$/m);
  assert.equal((await contexts.task('a', 'echo 2 > two.txt')).left, first.left);
  assert.equal((await contexts.task('a', 'true')).left, first.left);
  const moved = await contexts.task('a', `echo 2 > sub/file; ${commit}`);
  assert.match(moved.left ?? '', /^keep the files of sub/, 'its new commit is not in the result either');
  const mended = await contexts.task('a', 'rm -rf sub/.git; git rm -q --cached sub');
  assert.deepEqual([mended.left, mended.changed], [undefined, ['sub', 'sub/file']]);
  const many = 'for i in $(seq 25); do git init -q r$i; git -C r$i commit -q --allow-empty -m x; done';
  const { left = '' } = await contexts.task('a', many);
  assert.match(left, /^keep the files of (r\d+, ){4}r\d+ and 20 more: /);
});

test('a run that ends with an error leaves the telling to the next task, and a refusal that cannot be recorded is still told', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('a', `echo 1 > one.txt; ${HOSTILE}`);
  {
    await using workspace = await contexts.open('a');
    await workspace.begin(true);
    await contexts.sh(workspace, 'rm .gitmodules');
    await workspace.commit('Task', { isTold: false });
  }
  assert.match((await contexts.task('a', 'true')).left ?? '', /^review \.gitmodules, one\.txt/);
  await contexts.task('b', 'true');
  const first = await contexts.open('b');
  await first.begin(true);
  mkdirSync(join(contexts.place.workspaceRoot, 'contexts/b/refused'));
  await contexts.sh(first, HOSTILE);
  assert.match((await first.commit('Task')).left[0]?.todo ?? '', REASON);
  await first[Symbol.asyncDispose]();
});
