import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { openTestContexts } from '../../testing/index.ts';
import { objectsOf, storesOf } from '../../testing/stores.ts';

test('many copies of a user’s repository become few packs, and no context or result loses an object', async (t) => {
  const root = tempDir(t);
  chmodSync(root, 0o755);
  const path = join(root, 'project');
  mkdirSync(path);
  const user = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=u', '-c', 'user.email=u@localhost', '-C', path, ...args], {
      encoding: 'utf8',
    }).trim();
  user('init', '-q', '-b', 'trunk');
  const commit = (at: number): string => {
    writeFileSync(join(path, 'a.txt'), `${at}\n`);
    user('add', '--all');
    user('commit', '-q', '--amend', '--allow-empty', '-m', `Version ${at}`);
    return user('rev-parse', 'HEAD');
  };
  user('commit', '-q', '--allow-empty', '-m', 'first');
  const first = commit(0);
  const contexts = await openTestContexts(t, { path });
  const { store, git } = storesOf(contexts);
  await contexts.task('open', 'echo 1 > b.txt');
  commit(1);
  await contexts.task('result', 'echo 2 > c.txt');
  await store.remove('result', { results: 'keep' });
  for (let at = 2; at < 34; at += 1) {
    commit(at);
    // Each start of a context copies the commit.
    await contexts.task('none', 'true');
    await store.remove('none', { results: 'keep' });
  }
  const packs = (): string[] => {
    const dir = join(contexts.place.workspaceRoot, 'base.git/objects/pack');
    return readdirSync(dir)
      .filter((name) => name.endsWith('.pack'))
      .map((name) => join(dir, name));
  };
  assert.ok(packs().length > 32);
  const before = objectsOf(contexts, 'base.git');
  const nothing = { hasTasks: () => true, contextIds: () => ['open', 'result'], resultsBefore: undefined };
  await store.prune({ ...nothing, unusedBefore: 0, signal: AbortSignal.timeout(60_000) });
  assert.ok(packs().length <= 4, String(packs().length));
  assert.deepEqual(objectsOf(contexts, 'base.git').sort(), before.sort(), 'contexts may borrow any of them');
  for (const pack of packs()) assert.equal(statSync(pack).mode & 0o444, 0o444, 'commands can read it');
  const bases = git('base.git', 'for-each-ref', '--format=%(objectname)', 'refs/bases').split('\n');
  const newest = user('rev-parse', 'HEAD');
  assert.equal(bases.length, 3, 'those of the context, of the result, and the newest');
  assert.ok(bases.includes(first) && bases.includes(newest));
  const open = await contexts.task('open', 'cat a.txt b.txt; git fsck --no-dangling; echo 3 > d.txt');
  assert.deepEqual([open.stdout, open.changed], ['0\n1\n', ['d.txt']], open.stderr);
  const result = await contexts.task('result', 'cat a.txt c.txt');
  assert.equal(result.stdout, '1\n2\n', result.stderr);
});
