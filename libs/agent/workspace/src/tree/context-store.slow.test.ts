import assert from 'node:assert/strict';
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { cannotConfine, openTestContexts } from '../../testing/index.ts';
import { objectsOf, storesOf } from '../../testing/stores.ts';
import { processesOf } from '../process/proc.ts';

const inUse = (error: unknown): boolean => error instanceof FleetError && error.code === 'CONTEXT_IN_USE';

/** Commands of a task that try to keep its context from being removed, or to have something else removed with it. */
const HOSTILE = `
  mkdir -p closed/inner readonly; echo x > closed/inner/f; echo x > readonly/f; echo x > file
  ln -s "$1" link; ln -s "$1" closed/inner/link; ln -s "$1/kept" "$HOME/link"; ln -s / "$TMPDIR/root"
  touch -- -rf '--' "new
line"
  # Deeper than a path may be long.
  d=$(printf 'd/%.0s' $(seq 1900)); (cd "$HOME"; mkdir -p "$d" "other/$d"; mv other "$d")
  chmod 0 file closed/inner closed; chmod 0500 readonly`;

for (const confine of ['bubblewrap', 'uid'] as const) {
  test(`a removed context leaves nothing, and harms no neighbour (${confine})`, {
    skip: cannotConfine(confine),
  }, async (t) => {
    const outside = outsideFolder(t);
    const contexts = await openTestContexts(t, { confine });
    const { store, git, folders, root, fingerprint } = storesOf(contexts);
    await contexts.task(
      'neighbour',
      'echo theirs > theirs.txt; mkdir d; echo 1 > d/more; echo home > "$HOME/h"',
    );
    await contexts.task('one', 'echo the-secret > secret.txt');
    const made = await contexts.task('one', `set -- ${outside}; ${HOSTILE}`);
    assert.equal(made.exitCode, 0, made.stderr);
    const uid = lstatSync(join(root, 'contexts/one')).gid;
    const secret = git('results.git', 'rev-parse', 'fleet/one:secret.txt');
    const theirs = git('results.git', 'rev-parse', 'fleet/neighbour');
    const before = await fingerprint('neighbour');

    assert.deepEqual(await store.remove('one', { results: 'delete' }), { files: true, result: 'deleted' });
    assert.deepEqual(folders(), ['neighbour']);
    // Without users of their own, commands run as the user of this test.
    if (uid !== process.getgid?.()) assert.deepEqual(processesOf(uid), []);
    assert.equal(git('results.git', 'for-each-ref', '--format=%(refname)').includes('one'), false);
    assert.equal(objectsOf(contexts, 'results.git').includes(secret), false, 'the object is gone');
    assert.equal(readFileSync(join(outside, 'kept'), 'utf8'), 'kept');
    assert.equal(await fingerprint('neighbour'), before);
    assert.equal(git('results.git', 'rev-parse', 'fleet/neighbour'), theirs);
    assert.equal(git('results.git', 'fsck', '--connectivity-only'), '');
    assert.equal(
      (await contexts.task('neighbour', 'cat theirs.txt d/more "$HOME/h"')).stdout,
      'theirs\n1\nhome\n',
    );

    const fresh = await contexts.task('one', 'ls -A; ls -A "$HOME"; git log --format=%s');
    assert.equal(fresh.stdout, '.git\nStart the workspace\n', 'the id begins anew');
    assert.deepEqual(await store.remove('one', { results: 'keep' }), { files: true, result: 'none' });
    assert.deepEqual(await store.remove('one', { results: 'keep' }), { files: false, result: 'none' });
  });
}

function outsideFolder(t: TestContext): string {
  const outside = tempDir(t);
  chmodSync(outside, 0o777);
  writeFileSync(join(outside, 'kept'), 'kept', { mode: 0o666 });
  return outside;
}

test('an unmerged result stays until its deletion is asked for, and its context comes back with it', async (t) => {
  const contexts = await openTestContexts(t);
  const { store, git } = storesOf(contexts);
  await contexts.task('one', 'echo 1 > a.txt; mkdir .scratch; echo s > .scratch/s');
  const tip = git('results.git', 'rev-parse', 'fleet/one');
  assert.deepEqual(await store.remove('one', { results: 'keep' }), { files: true, result: 'kept' });
  assert.equal(git('results.git', 'rev-parse', 'fleet/one'), tip);
  const back = await (await contexts.restart()).task('one', 'cat a.txt; ls -A; echo 2 > b.txt');
  assert.deepEqual([back.stdout, back.changed], ['1\n.git\na.txt\n', ['b.txt']]);
  assert.deepEqual(await store.remove('one', { results: 'keep' }), { files: true, result: 'kept' });
  assert.deepEqual(await store.remove('one', { results: 'delete' }), { files: false, result: 'deleted' });
  assert.equal((await contexts.task('one', 'ls')).stdout, '');
});

test('a result that new contexts start from goes with its context', async (t) => {
  const contexts = await openTestContexts(t);
  const { store, git, root } = storesOf(contexts);
  await contexts.task('one', 'echo 1 > a.txt');
  await contexts.task('two', 'echo 2 > b.txt');
  git('base.git', '-c', 'protocol.allow=always', 'fetch', '-q', join(root, 'results.git'), '+fleet/one:main');
  assert.deepEqual(await store.remove('one', { results: 'keep' }), { files: true, result: 'merged' });
  assert.deepEqual(await store.remove('two', { results: 'keep' }), { files: true, result: 'kept' });
  const left = git('results.git', 'for-each-ref', '--format=%(refname)').split('\n');
  assert.deepEqual(left, ['refs/contexts/two', 'refs/heads/fleet/two']);
  assert.equal((await contexts.task('two', 'cat b.txt; ls')).stdout, '2\nb.txt\n');
  assert.equal((await contexts.task('three', 'cat a.txt')).stdout, '1\n');
});

test('a context that a task works in is not removed, and none begins in one that is being removed', async (t) => {
  const contexts = await openTestContexts(t);
  const { store, folders } = storesOf(contexts);
  let released = 0;
  const release = async (): Promise<void> => {
    released += 1;
  };
  {
    await using open = await contexts.open('one');
    await contexts.sh(open, 'echo 1 > a.txt');
    await assert.rejects(store.remove('one', { results: 'delete', release }), inUse);
    assert.equal(released, 0);
    assert.equal((await contexts.sh(open, 'cat a.txt')).stdout, '1\n');
  }
  const { promise: removing, resolve: begun } = Promise.withResolvers<void>();
  const { promise: continued, resolve: goOn } = Promise.withResolvers<void>();
  const removal = store.remove('one', {
    results: 'delete',
    release: () => {
      begun();
      return continued;
    },
  });
  await removing;
  const opened: string[] = [];
  const opening = contexts.task('one', 'ls').finally(() => opened.push('one'));
  const other = await contexts.task('two', 'echo 2 > b.txt');
  assert.deepEqual([opened, other.changed], [[], ['b.txt']], 'only the context itself waits');
  goOn();
  assert.equal((await removal).files, true);
  assert.equal((await opening).stdout, '');
  assert.deepEqual(folders(), ['one', 'two']);
});

test('a removal that a crash interrupted is completed, by a further call and by the next start', async (t) => {
  const contexts = await openTestContexts(t);
  const { folders, git } = storesOf(contexts);
  for (const name of ['one', 'two']) {
    await contexts.task(name, `echo ${name} > ${name}.txt; mkdir d; chmod 0 d`);
    const crash = new AbortController();
    const removal = storesOf(contexts).store.remove(name, {
      results: 'delete',
      release: async () => crash.abort(new Error('crashed')),
      signal: crash.signal,
    });
    await assert.rejects(removal, /crashed/);
  }
  assert.deepEqual(
    folders().map((name) => name.slice(0, -36)),
    ['.removed-one-', '.removed-two-'],
  );
  const next = await contexts.restart();
  const { store } = storesOf(next);
  assert.deepEqual(await store.remove('one', { results: 'delete' }), { files: true, result: 'none' });
  assert.deepEqual(
    folders().map((name) => name.slice(0, -36)),
    ['.removed-two-'],
  );
  assert.equal(existsSync(join(contexts.place.workspaceRoot, 'results.git/repack-wanted')), false);
  const signal = AbortSignal.timeout(60_000);
  const nothing = { hasTasks: () => false, contextIds: () => [], resultsBefore: undefined, signal };
  await store.prune({ ...nothing, unusedBefore: 0 });
  assert.deepEqual(folders(), []);
  assert.equal(git('results.git', 'for-each-ref'), '');
  assert.deepEqual(objectsOf(contexts, 'results.git'), []);
});

test('two removals of a context at once both resolve when it is gone', async (t) => {
  const contexts = await openTestContexts(t);
  const { store, folders } = storesOf(contexts);
  await contexts.task('one', 'echo 1 > a.txt');
  const both = await Promise.all([1, 2].map(() => store.remove('one', { results: 'delete' })));
  assert.deepEqual(both.map(({ result }) => result).sort(), ['deleted', 'none']);
  assert.deepEqual(folders(), []);
  assert.deepEqual(readdirSync(join(contexts.place.workspaceRoot, 'contexts')), []);
});

test('a removal soon after another leaves the objects of its result to the cleanup', async (t) => {
  let now = 0;
  const clock = {
    ...systemClock,
    /** An hour passes between two looks, so that every repack takes one. */
    monotonic() {
      now += 3_600_000;
      return now;
    },
  };
  const contexts = await openTestContexts(t, { clock });
  const { store, git } = storesOf(contexts);
  for (const name of ['one', 'two']) await contexts.task(name, `echo ${name} > a.txt`);
  const [one, two] = ['one', 'two'].map((name) => git('results.git', 'rev-parse', `fleet/${name}:a.txt`));
  const left = (): boolean[] => [one, two].map((id = '') => objectsOf(contexts, 'results.git').includes(id));
  await store.remove('one', { results: 'delete' });
  assert.deepEqual(left(), [false, true]);
  assert.deepEqual(await store.remove('two', { results: 'delete' }), { files: true, result: 'deleted' });
  assert.deepEqual(left(), [false, true]);
  const signal = AbortSignal.timeout(60_000);
  const all = { hasTasks: () => true, contextIds: () => [], resultsBefore: undefined, unusedBefore: 0 };
  await store.prune({ ...all, signal });
  assert.deepEqual(left(), [false, false]);
});
