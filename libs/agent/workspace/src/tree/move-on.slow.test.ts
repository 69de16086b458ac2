import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCheckout, openTestContexts, startForge } from '../../testing/index.ts';

test('a further task gets only what is new, and goes on from where the context and the caller are', async (t) => {
  const contexts = await openTestContexts(t);
  const { task, sh } = contexts;
  const mine = makeCheckout(t);
  const first = mine.commit({ 'a.txt': '1\n', 'shared.txt': 'one\n' });
  mine.send(first);
  await task('c', 'echo result > r.txt', mine.at(first));
  assert.deepEqual(mine.opened.splice(0), [first]);
  // The same commit again, also after a restart: nothing is asked for.
  assert.equal((await task('c', 'cat r.txt', mine.at(first))).stdout, 'result\n');
  assert.deepEqual(mine.opened, []);
  // The caller has gone on beside the result: both are there.
  const second = mine.commit({ 'a.txt': '2\n' });
  mine.send(second, [first]);
  const both = await task('c', 'cat a.txt r.txt; echo more >> r.txt; git log --format=%s', mine.at(second));
  assert.deepEqual(both.changed, ['r.txt']);
  assert.match(both.stdout, /^2\nresult\nMerge newer commits of the checkout\n/);
  assert.deepEqual(mine.opened.splice(0), [second]);
  // The caller takes the result and goes on from it.
  const again = await contexts.restart();
  await using workspace = await again.open('c', mine.at(second));
  await workspace.begin(true);
  await sh(workspace, 'echo last > l.txt');
  const { delivery } = await workspace.commit('Last');
  await workspace[Symbol.asyncDispose]();
  const signal = AbortSignal.timeout(10_000);
  const result = {
    contextId: 'c',
    repository: null,
    branch: 'fleet/c',
    base: delivery?.base ?? '',
    commit: delivery?.commit ?? '',
  };
  await using bundle =
    (await again.workspaces.results?.bundle(result, { whole: false, signal })) ?? assert.fail();
  mine.git('pull', '-q', '--ff-only', bundle.path, 'refs/heads/fleet/c');
  const third = mine.commit({ 'a.txt': '3\n' });
  mine.send(third, [second]);
  const forward = await again.task('c', 'cat a.txt l.txt; git log --format=%H -1', mine.at(third));
  assert.equal(forward.stdout, `3\nlast\n${third}\n`);
  // What conflicts is refused by name, and nothing has changed.
  await again.task('c', 'echo theirs > shared.txt', mine.at(third));
  const fourth = mine.commit({ 'shared.txt': 'mine\n' });
  mine.send(fourth, [third]);
  await using conflicting = await again.open('c', mine.at(fourth));
  const begun = await conflicting.begin(true);
  assert.match(
    'refused' in begun ? begun.refused.detail : '',
    /^what was sent conflicts with the result of the context in shared\.txt: take the result \(fleet pull\)/,
  );
  await conflicting[Symbol.asyncDispose]();
  assert.equal((await again.task('c', 'cat shared.txt', mine.at(third))).stdout, 'theirs\n');
});

test('a configured repository may move on by more than its depth between two tasks of a context', async (t) => {
  const forge = await startForge(t);
  forge.push('web', { 'a.txt': '0\n' });
  const tip = forge.push('web', { 'a.txt': '1\n' });
  const repositories = [forge.remote('web', { depth: 1 })];
  const { task } = await openTestContexts(t, { repositories });
  const mine = makeCheckout(t, forge.git('web', 'remote', 'get-url', 'origin'));
  const first = mine.commit({ 'm.txt': 'mine\n' });
  mine.send(first, [tip]);
  await task('c', 'echo r > r.txt', mine.at(first, 'web'));
  for (const text of ['2', '3', '4']) forge.push('web', { 'a.txt': `${text}\n` });
  mine.git('pull', '-q', '--no-rebase', '--no-edit', 'origin', 'main');
  const second = mine.git('rev-parse', 'HEAD');
  mine.send(second, [first, mine.git('rev-parse', 'origin/main')]);
  const next = await task(
    'c',
    'cat a.txt m.txt r.txt; git log --format=%s >/dev/null && echo s > s.txt',
    mine.at(second, 'web'),
  );
  assert.deepEqual([next.stdout, next.changed], ['4\nmine\nr\n', ['s.txt']], next.stderr);
});

test('a further task goes on from a checkout whose history was rewritten, and keeps the result of the context', async (t) => {
  const { task } = await openTestContexts(t);
  const mine = makeCheckout(t);
  const first = mine.commit({ 'a.txt': '1\n', 'b.txt': 'b\n' });
  mine.send(first);
  await task('c', 'echo result > r.txt', mine.at(first));
  const amended = (text: string): string => {
    writeFileSync(join(mine.dir, 'a.txt'), text);
    mine.git('commit', '-q', '--all', '--amend', '--no-edit');
    return mine.git('rev-parse', 'HEAD');
  };
  for (const text of ['2\n', '3\n', '4\n']) {
    const next = amended(text);
    mine.send(next);
    const seen = await task('c', 'cat a.txt r.txt; echo more >> r.txt', mine.at(next));
    assert.equal(seen.stdout.slice(0, 9), `${text}result\n`, seen.stderr);
    assert.deepEqual(seen.changed, ['r.txt']);
  }
});
