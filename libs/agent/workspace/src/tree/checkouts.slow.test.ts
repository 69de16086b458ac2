import assert from 'node:assert/strict';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  cannotConfine,
  makeCheckout,
  makePlace,
  openTestContexts,
  setUpBy,
  startForge,
} from '../../testing/index.ts';
import { makeOldHistory } from '../../testing/old-history.ts';
import { WorkspaceRefused } from '../stores/workspace-refused.ts';
import type { Workspace } from './workspace.ts';

const refusalOf = async (opening: Promise<Workspace>): Promise<string> => {
  const error = await opened(opening).catch((thrown: unknown) => thrown);
  if (!(error instanceof WorkspaceRefused)) throw error;
  return error.unmet.map(({ kind, name, detail }) => `${kind} ${name}: ${detail}`).join('\n');
};
async function opened(opening: Promise<Workspace>): Promise<never> {
  const workspace = await opening;
  await workspace[Symbol.asyncDispose]();
  assert.fail('it was opened');
}

test('a context works on the checkout that its caller sent, and its result is a branch of it', async (t) => {
  const { task, open, sh, workspaces, place } = await openTestContexts(t);
  const mine = makeCheckout(t);
  const first = mine.commit({ 'a.txt': '1\n', 'odd\nname': 'x', A: 'upper', a: 'lower' });
  mine.git('symbolic-ref', 'HEAD', 'refs/heads/other');
  mine.send(first);
  await using workspace = await open('one', mine.at(first));
  await workspace.begin(true);
  const seen = await sh(
    workspace,
    'cat a.txt A a; git log --format=%s -1 --stat -- a.txt; echo 2 > b.txt; git remote; git branch -a',
  );
  assert.match(seen.stdout, /^1\nupperlower/);
  const { delivery } = await workspace.commit('Add b.txt');
  const { commit = '', base } = delivery ?? {};
  assert.deepEqual([delivery?.repository, delivery?.branch, base], [null, 'fleet/one', first]);
  const result = {
    contextId: 'one',
    repository: null,
    branch: 'fleet/one',
    base: first,
    commit: commit ?? '',
  };
  const signal = AbortSignal.timeout(10_000);
  await using bundle =
    (await workspaces.results?.bundle(result, { whole: false, signal })) ?? assert.fail('no results');
  mine.git('fetch', '-q', bundle.path, 'refs/heads/fleet/one:refs/heads/fleet/one');
  assert.equal(mine.git('diff', '--name-only', first, 'fleet/one'), 'b.txt');
  assert.equal(mine.git('show', '-s', '--format=%P %s', 'fleet/one'), `${first} Add b.txt`);
  // Another context sees nothing of it, also by hash, and neither does one of the profile's own repository.
  const other = makeCheckout(t);
  other.send(other.commit({ 'o.txt': 'o\n' }));
  for (const run of [
    await task(
      'two',
      `git cat-file -t ${first}; ls ../../../checkouts; cat ../../../checkouts/one/base.git/HEAD`,
    ),
    await task(
      'three',
      `git cat-file -t ${first}; ls ../../../checkouts`,
      other.at(other.git('rev-parse', 'HEAD')),
    ),
  ])
    assert.doesNotMatch(run.stdout, /one|commit|ref/, run.stderr);
  assert.ok(existsSync(join(place.workspaceRoot, 'checkouts/one/results.git')));
});

test('a checkout whose result is kept is closed to a context that gets the user of its own', {
  skip: cannotConfine('uid'),
}, async (t) => {
  const place = makePlace(t, { parent: '/var/tmp' });
  const contexts = await openTestContexts(t, { confine: 'uid', place });
  // The users that follow its own are free.
  await contexts.task('before', 'true');
  const mine = makeCheckout(t);
  const first = mine.commit({ 'secret.txt': 'of its caller\n' });
  mine.send(first);
  const theirs = await contexts.task('theirs', 'id -u; echo r > r.txt', mine.at(first));
  await contexts.workspaces.contexts?.remove('theirs', { results: 'keep' });
  const again = await contexts.restart();
  const dir = join(place.workspaceRoot, 'checkouts/theirs');
  const look = `id -u; GIT_DIR=${dir}/base.git git show ${first}:secret.txt; cat ${dir}/base.git/HEAD`;
  assert.equal((await again.task('after', look)).stdout, theirs.stdout, 'the same user sees nothing');
});

test('a checkout of a configured repository has the rest of its history from there', async (t) => {
  const forge = await startForge(t, { token: 'token-of-the-forge' });
  for (const text of ['1', '2', '3']) forge.push('web', { 'a.txt': `${text}\n` });
  const tip = forge.git('web', 'rev-parse', 'HEAD');
  const topic = forge.push('web', { 't.txt': 'topic\n' }, 'topic');
  const { task, open } = await openTestContexts(t, { repositories: [forge.remote('web', { depth: 2 })] });
  const mine = makeCheckout(t, forge.git('web', 'remote', 'get-url', 'origin'));
  const first = mine.commit({ 'm.txt': 'mine\n' });
  mine.send(first, [tip]);
  const run = await task(
    'one',
    'cat a.txt m.txt; git rev-list --count HEAD; echo 4 > a.txt',
    mine.at(first, 'web'),
  );
  assert.deepEqual([run.stdout, run.changed], ['3\nmine\n3\n', ['a.txt']], run.stderr);
  mine.git('checkout', '-q', topic);
  const onTopic = mine.commit({ 'n.txt': 'n\n' });
  mine.send(onTopic, [topic]);
  const other = await task('two', 'cat t.txt n.txt', mine.at(onTopic, 'web'));
  assert.equal(other.stdout, 'topic\nn\n', other.stderr);
  const lost = mine.commit({ 'l.txt': 'l\n' });
  const last = mine.commit({ 'k.txt': 'k\n' });
  mine.send(last, [lost]);
  assert.match(
    await refusalOf(open('three', mine.at(last, 'web'))),
    /^repo web: the sent checkout builds on commit [0-9a-f]{40}, which is not to be had \(http.*web.git does not give .*\): push it$/,
  );
  await forge.server.stop();
  mine.send(lost, [topic]);
  assert.match(
    await refusalOf(open('four', mine.at(last, 'web'))),
    /builds on a repository that is away|cannot be reached/,
  );
});

for (const confine of ['bubblewrap', 'uid'] as const)
  test(`the set-up of a configured repository prepares a checkout of it (${confine})`, {
    skip: cannotConfine(confine),
  }, async (t) => {
    const forge = await startForge(t);
    const tip = forge.push('web', { 'a.txt': '1\n' });
    const setUp = setUpBy(['cat a.txt m.txt > made.txt']);
    const repositories = [forge.remote('web', { setUp })];
    const { task } = await openTestContexts(t, {
      confine,
      repositories,
      place: makePlace(t, { parent: '/var/tmp' }),
    });
    const mine = makeCheckout(t, forge.git('web', 'remote', 'get-url', 'origin'));
    const first = mine.commit({ 'm.txt': 'mine\n' });
    mine.send(first, [tip]);
    const run = await task('one', 'cat made.txt; git show HEAD:m.txt; echo 2 > b.txt', mine.at(first, 'web'));
    assert.deepEqual([run.stdout, run.changed], ['1\nmine\nmine\n', ['b.txt']], run.stderr);
  });

test('a context works on an old history that breaks the rules for new objects', async (t) => {
  const { task, place } = await openTestContexts(t);
  const mine = makeCheckout(t);
  const old = makeOldHistory(mine);
  mine.send(old);
  const seen = await task('c', 'cat d/e/a.txt; echo r > d/r.txt; git rev-list --count HEAD', mine.at(old));
  assert.deepEqual([seen.stdout, seen.changed, seen.left], ['a\n12\n', ['d/r.txt'], undefined], seen.stderr);
  mine.git('reset', '-q', '--hard', old);
  const next = mine.commit({ 'd/e/a.txt': 'new\n' });
  mine.send(next, [old]);
  const again = await task('c', 'cat d/e/a.txt d/r.txt; echo more >> d/r.txt', mine.at(next));
  assert.deepEqual([again.stdout, again.changed, again.left], ['new\nr\n', ['d/r.txt'], undefined]);
  const results = join(place.workspaceRoot, 'checkouts/c/results.git');
  assert.match(mine.git('-C', results, 'log', '--branches', '--format=%s'), /^Task\n/);
});

test('what is damaged or incomplete is refused by name, and a whole bundle is taken afterwards', async (t) => {
  const { open, task } = await openTestContexts(t);
  const mine = makeCheckout(t);
  const first = mine.commit({ 'a.txt': 'a'.repeat(10_000), 'b.txt': 'b\n' });
  const file = mine.send(first);
  const whole = readFileSync(file);
  const damage: readonly [string, () => void, RegExp][] = [
    ['cut', () => truncateSync(file, whole.length - 30), /the sent checkout is damaged: /],
    [
      'changed',
      () => writeFileSync(file, Buffer.concat([whole.subarray(0, -40), Buffer.alloc(40, 7)])),
      /damaged/,
    ],
    ['no bundle', () => writeFileSync(file, 'hello\n\n'), /is not a git bundle of commit/],
    [
      'another commit',
      () => writeFileSync(file, whole.toString('latin1').replace(first, '0'.repeat(40)), 'latin1'),
      /not a git bundle of commit/,
    ],
  ];
  for (const [what, damaged, reason] of damage) {
    damaged();
    assert.match(await refusalOf(open('one', mine.at(first))), reason, what);
    writeFileSync(file, whole);
  }
  const second = mine.commit({ 'c.txt': 'c\n' });
  const third = mine.commit({ 'd.txt': 'd\n' });
  mine.send(third, [second]);
  assert.match(
    await refusalOf(open('one', mine.at(third))),
    /^repo bundle: the sent checkout cannot be had: the caller has not sent/,
  );
  // Its pack claims to have what it has not.
  const liar = mine.send(third, [second]);
  writeFileSync(liar, readFileSync(liar).toString('latin1').replace(`-${second}\n`, ''), 'latin1');
  assert.match(await refusalOf(open('one', mine.at(third))), /the sent checkout lacks objects/);
  assert.equal((await task('one', 'cat b.txt', mine.at(first))).stdout, 'b\n');
  mine.send(second, [first]);
  mine.send(third, [second]);
  assert.equal((await task('one', 'cat c.txt d.txt', mine.at(third))).stdout, 'c\nd\n', 'the chain');
});

test('a checkout goes with its context, and another repository is refused in it', async (t) => {
  const { open, task, workspaces, place } = await openTestContexts(t);
  const mine = makeCheckout(t);
  const first = mine.commit({ 'a.txt': '1\n' });
  mine.send(first);
  await task('one', 'echo 2 > a.txt', mine.at(first));
  await task('own', 'echo 2 > a.txt');
  assert.match(await refusalOf(open('own', mine.at(first))), /the context began without a named repository/);
  const store = workspaces.contexts ?? assert.fail('no contexts');
  const dir = join(place.workspaceRoot, 'checkouts/one');
  assert.deepEqual(await store.remove('one', { results: 'keep' }), { files: true, result: 'kept' });
  assert.ok(existsSync(dir));
  assert.equal((await store.held())('one'), true);
  assert.equal((await task('one', 'cat a.txt', mine.at(first))).stdout, '2\n', 'the result is there again');
  assert.deepEqual(await store.remove('one', { results: 'delete' }), { files: true, result: 'deleted' });
  assert.ok(!existsSync(dir));
  await task('two', 'true', mine.at(first));
  const nothing = { hasTasks: () => false, contextIds: () => [], signal: AbortSignal.timeout(60_000) };
  const later = Date.now() + 60_000;
  await store.prune({ ...nothing, unusedBefore: later, resultsBefore: later });
  assert.ok(!existsSync(join(place.workspaceRoot, 'checkouts/two')));
});
