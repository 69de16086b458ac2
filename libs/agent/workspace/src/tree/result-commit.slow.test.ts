import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Contexts, openTestContexts } from '../../testing/index.ts';

/** Runs git in the store of results, as somebody who looks at it. */
const inStore = ({ place }: Contexts, ...args: string[]): string =>
  execFileSync('git', ['-C', join(place.workspaceRoot, 'results.git'), ...args], {
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  }).trim();

const FORGED = `export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.com
  echo hunter2 > secret.txt; git add -A; git commit -qm 'Add it [skip ci]'
  git rm -q secret.txt; echo 1 > a.txt; git add -A; git commit -qm 'Signed-off-by: Ann <ann@example.com>'`;

test('a result is one commit of the gateway for each task, whatever the task committed itself', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('one', `${FORGED}; echo 2 > b.txt`);
  await contexts.task('one', 'true');
  await contexts.task('one', 'git commit -q --allow-empty -m nothing; echo 3 >> b.txt');
  const log = inStore(contexts, 'log', '--format=%s|%b|%an|%ae|%cn', 'fleet/one').split('\n');
  const gateway = 'Task||Hermes Fleet neo|neo@hermes-fleet.invalid|Hermes Fleet neo';
  assert.deepEqual([log.length, log[0], log[1]], [3, gateway, gateway]);
  const objects = inStore(contexts, 'cat-file', '--batch-all-objects', '--batch-check=%(objecttype)').split(
    '\n',
  );
  assert.equal(objects.filter((type) => type === 'commit').length, 3, 'the store has commits of a task');
  const blobs = objects.filter((type) => type === 'blob');
  assert.equal(blobs.length, 3, 'the store has what a task deleted again');
  const own = await contexts.task(
    'one',
    'git log --format=%an%s; git status --short; git fsck --no-dangling 2>&1',
  );
  assert.equal(
    own.stdout,
    'Hermes Fleet neoTask\n'.repeat(2) + log[2]?.replace(/.*/, 'Hermes Fleet neoStart the workspace\n'),
  );
});

test('the result of a task names its commit and the one that it began from, and nothing where nothing changed', async (t) => {
  const contexts = await openTestContexts(t);
  const run = async (script: string, message: string) => {
    await using workspace = await contexts.open('one');
    const begun = await workspace.begin(true);
    await contexts.sh(workspace, script);
    await workspace.save();
    const { delivery, left } = await workspace.commit(message);
    return { base: 'base' in begun ? begun.base : undefined, delivery, left };
  };
  const message = 'Count to three\n\n# a heading\n\nFleet-Task: t1';
  const first = await run('echo 1 > a', message);
  const commit = inStore(contexts, 'rev-parse', 'fleet/one');
  const kept = { repository: null, branch: 'fleet/one', state: 'kept' };
  assert.deepEqual(first.delivery, { ...kept, base: first.base, commit });
  assert.equal(inStore(contexts, 'log', '-1', '--format=%B', commit), message);
  assert.equal(inStore(contexts, 'rev-parse', `${commit}^`), first.base);
  assert.equal((await run('true', 'Nothing')).delivery, undefined);
  assert.equal(
    (await run('echo 2 > b; git add b; git commit -qm x; git reset -q --hard HEAD~1', 'Undone')).delivery,
    undefined,
  );
  assert.equal(inStore(contexts, 'rev-parse', 'fleet/one'), commit);
});

test('an interrupted task is one commit when it has ended, and one that never ended stays one', async (t) => {
  const contexts = await openTestContexts(t);
  const interrupted = async (name: string) => {
    await using first = await contexts.open(name);
    const begun = await first.begin(true);
    await contexts.sh(first, 'echo 1 > a; git add a; git commit -qm own; echo 2 > b');
    await first.leave('Interrupted');
    return 'base' in begun ? begun.base : assert.fail();
  };
  const base = await interrupted('one');
  {
    const restarted = await contexts.restart();
    await using again = await restarted.open('one');
    await again.resume(base);
    await restarted.sh(again, 'echo 3 > c');
    const { delivery } = await again.commit('Whole');
    assert.equal(delivery?.base, base);
    assert.deepEqual(await again.changedSince(base), ['a', 'b', 'c']);
  }
  assert.equal(inStore(contexts, 'log', '--format=%s', 'fleet/one'), 'Whole\nStart the workspace');
  await interrupted('two');
  const next = await contexts.task('two', 'git log --format=%s; echo 4 > d');
  assert.deepEqual(next.changed, ['d']);
  assert.equal(
    inStore(contexts, 'log', '--format=%s', 'fleet/two'),
    'Task\nInterrupted\nStart the workspace',
  );
});

test('a tree that cannot take the commit of its result goes on with its own history', async (t) => {
  const contexts = await openTestContexts(t);
  // Nobody can write a ref there, so that the commit of the gateway cannot become that of the tree.
  await contexts.task('one', `echo 1 > a; git add a; git commit -qm own; mkdir .git/HEAD.lock`);
  await contexts.task('one', `rmdir .git/HEAD.lock 2>/dev/null; echo 2 > b`);
  const last = await contexts.task('one', 'echo 3 > c');
  assert.deepEqual(last.changed, ['c']);
  assert.equal(inStore(contexts, 'log', '--format=%s', 'fleet/one'), 'Task\nTask\nTask\nStart the workspace');
});

test('commits have the configured author and signature, and one that cannot be signed is made and named', async (t) => {
  const keys = tempDir(t);
  const key = join(keys, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const author = { name: 'Acme Bot', email: 'bot@acme.example' };
  const contexts = await openTestContexts(t, { commits: { author, signingKeyFile: key } });
  await contexts.task('one', 'echo 1 > a');
  assert.equal(
    inStore(contexts, 'log', '-1', '--format=%an|%ae|%cn|%ce', 'fleet/one'),
    'Acme Bot|bot@acme.example|Acme Bot|bot@acme.example',
  );
  const signers = join(keys, 'signers');
  writeFileSync(signers, `bot@acme.example ${readFileSync(`${key}.pub`, 'utf8')}`);
  const verify = ['-c', `gpg.ssh.allowedSignersFile=${signers}`, 'verify-commit', 'fleet/one'];
  inStore(contexts, ...verify);
  assert.equal((await contexts.task('one', 'cat .git/HEAD; git log -1 --format=%GS')).exitCode, 0);
  rmSync(key);
  chmodSync(keys, 0o755);
  const unsigned = await contexts.task('one', 'echo 2 > a');
  assert.match(
    unsigned.left ?? '',
    /^sign commit [0-9a-f]{40}: it has no signature \(it could not be signed; the log /,
  );
  assert.equal((unsigned.left ?? '').includes(keys), false, 'the caller does not learn where the key is');
  assert.deepEqual(unsigned.changed, ['a']);
});

test('files that no result has stay out of the commit, also where a task commits them, and those of the base stay in', async (t) => {
  const contexts = await openTestContexts(t);
  const own = 'git add -Af; git commit -qm own';
  const made = await contexts.task(
    'one',
    `mkdir .scratch; for f in .scratch/k PROGRESS.json PROGRESS.invalid-1.json a; do echo 1 > $f; done; ${own}`,
  );
  assert.deepEqual(made.changed, ['a']);
  assert.equal(inStore(contexts, 'ls-tree', '-r', '--name-only', 'fleet/one'), 'a');
  const tip = inStore(contexts, 'rev-parse', 'fleet/one');
  const only = await contexts.task('one', `echo 2 > PROGRESS.json; ${own}; git log --format=%s`);
  assert.deepEqual([only.changed, only.stdout], [[], 'own\nTask\nStart the workspace\n'], only.stderr);
  assert.equal(inStore(contexts, 'rev-parse', 'fleet/one'), tip);
  assert.deepEqual((await contexts.task('one', 'echo 3 > b')).changed, ['b']);
  assert.equal(inStore(contexts, 'log', '--format=%s', 'fleet/one'), 'Task\nTask\nStart the workspace');
});

test('a result whose parent the store has lost is based on what the context started from, with all files', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('one', 'echo 1 > a');
  let began = '';
  {
    await using first = await contexts.open('one');
    const begun = await first.begin(true);
    began = 'base' in begun ? begun.base : assert.fail();
    await contexts.sh(first, 'echo 2 > b');
  }
  rmSync(join(contexts.place.workspaceRoot, 'results.git'), { recursive: true });
  const next = await contexts.restart();
  await using again = await next.open('one');
  await again.resume(began);
  const { delivery } = await again.commit('Whole');
  assert.notEqual(delivery?.base, began);
  assert.equal(inStore(next, 'fsck', '--connectivity-only'), '');
  assert.equal(inStore(next, 'ls-tree', '-r', '--name-only', 'fleet/one'), 'a\nb');
});

test('work of a task that was killed and never went on is one commit, of which the next task is told', async (t) => {
  const contexts = await openTestContexts(t);
  {
    await using first = await contexts.open('one');
    await first.begin(true);
    await contexts.sh(first, 'echo 1 > a; git add a; git commit -qm "own [skip ci]"; echo 2 > b');
  }
  const next = await (await contexts.restart()).task('one', 'echo 3 > c');
  assert.deepEqual(next.changed, ['c']);
  assert.equal(
    next.left,
    'review a, b: left by an earlier task of this context that did not end, and part of the branch now',
  );
  assert.equal(
    inStore(contexts, 'log', '--format=%s', 'fleet/one'),
    'Task\nWhat an earlier task left behind\nStart the workspace',
  );
  assert.equal((await contexts.task('one', 'true')).left, undefined);
});
