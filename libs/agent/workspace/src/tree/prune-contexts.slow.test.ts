import assert from 'node:assert/strict';
import { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { chownSync, cpSync, existsSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { type Contexts, makeCheckout, openTestContexts } from '../../testing/index.ts';
import { objectsOf, storesOf } from '../../testing/stores.ts';
import type { PrunedContexts, PruneOptions } from './workspace.ts';

const DAY_MS = 86_400_000;

/** Pages of a ledger that has tasks of these contexts. */
const tasksOf = (...ids: string[]): Pick<PruneOptions, 'hasTasks' | 'contextIds'> => ({
  hasTasks: (contextId) => ids.includes(contextId),
  contextIds: (after, limit) =>
    ids
      .toSorted()
      .filter((id) => id > after)
      .slice(0, limit),
});

async function open(t: TestContext) {
  const contexts = await openTestContexts(t);
  const stores = storesOf(contexts);
  const at = (path: string): string => join(stores.root, path);
  return {
    contexts,
    ...stores,
    at,
    /** Makes a file or folder as old as `days`. */
    age: (path: string, days: number): void => {
      const then = new Date(Date.now() - days * DAY_MS);
      utimesSync(at(path), then, then);
    },
    prune: (options: Partial<PruneOptions> = {}): Promise<PrunedContexts> =>
      stores.store.prune({
        ...tasksOf(),
        unusedBefore: Date.now() - 30 * DAY_MS,
        resultsBefore: undefined,
        signal: AbortSignal.timeout(60_000),
        ...options,
      }),
    branches: (): string[] =>
      stores
        .git('results.git', 'for-each-ref', '--format=%(refname:lstrip=3)', 'refs/heads')
        .split('\n')
        .filter((name) => name !== ''),
  };
}

const work = (contexts: Contexts, name: string): Promise<unknown> =>
  contexts.task(name, `echo ${name} > ${name}.txt`);

test('contexts that no task needs go when they were not used for the time, and their unmerged results stay', async (t) => {
  const { contexts, folders, age, prune, branches, at } = await open(t);
  const hashed = 'an id/that is hashed';
  for (const name of ['old', 'needed', 'recent', hashed]) await work(contexts, name).catch(() => {});
  const named = folders().find((name) => name.startsWith('h-')) ?? assert.fail();
  await using running = await contexts.open('open');
  assert.ok(existsSync(at('contexts/open/context')), 'a gateway that is killed has recorded the use');
  for (const name of ['old', 'needed', 'open', named]) age(`contexts/${name}/context`, 31);
  age('contexts/recent/context', 29);
  assert.deepEqual(await prune(tasksOf('needed', hashed)), { contexts: 1, results: 0 });
  assert.deepEqual(folders(), [named, 'needed', 'open', 'recent'].sort());
  assert.ok(branches().includes('old'));
  assert.equal((await contexts.sh(running, 'pwd')).stdout.trim(), running.dir);
  assert.deepEqual(await prune(tasksOf('needed')), { contexts: 1, results: 0 });
  assert.equal(existsSync(at(`contexts/${named}`)), false);
});

test('a context is held while it has files or a result', async (t) => {
  const { contexts, store } = await open(t);
  const hashed = 'an id/that is hashed';
  for (const name of ['both', hashed]) await work(contexts, name).catch(() => {});
  await store.remove('both', { results: 'keep' });
  await contexts.task('files', 'true');
  const before = await store.held();
  for (const name of [hashed, 'both', 'files']) await store.remove(name, { results: 'delete' });
  const after = await store.held();
  const ids = ['both', hashed, 'files', 'none'];
  assert.deepEqual(ids.map(before), [true, true, true, false]);
  assert.deepEqual(ids.map(after), [false, false, false, false]);
});

test('a task that arrives while contexts are removed keeps its context', async (t) => {
  const { contexts, folders, age, prune } = await open(t);
  await work(contexts, 'one');
  age('contexts/one/context', 31);
  const late = { contextIds: () => [], hasTasks: (contextId: string) => contextId === 'one' };
  assert.deepEqual(await prune(late), { contexts: 0, results: 0 });
  const used = (): string[] => {
    age('contexts/one/context', 0);
    return [];
  };
  assert.deepEqual(await prune({ contextIds: used }), { contexts: 0, results: 0 }, 'one that came and went');
  assert.deepEqual(folders(), ['one']);
});

test('what changes during a long removal keeps its result', async (t) => {
  const { contexts, age, prune, branches, git, store, root, at } = await open(t);
  const hashed = 'an id/that is hashed';
  const names = ['a-first', 'b-older', 'b-tree', 'c-branch', 'd-task', 'e-goes', hashed];
  for (const name of names) {
    await contexts.task(name, 'echo 1 > a.txt');
    if (name > 'c') await store.remove(name, { results: 'keep' });
  }
  await store.remove(hashed, { results: 'keep' });
  for (const name of ['a-first', 'b-tree']) age(`contexts/${name}/context`, 31);
  rmSync(at('contexts/b-older/context'));
  age('contexts/b-older', 31);
  const refs = git('results.git', 'for-each-ref', '--format=%(refname)', 'refs/heads').split('\n');
  const fetch = ['-c', 'protocol.allow=always', 'fetch', '-q', join(root, 'results.git')];
  git('base.git', ...fetch, ...refs.map((ref) => `${ref}:${ref.replace('heads', 'merged')}`));
  // What new contexts start from has all results.
  const tips = refs.flatMap((ref) => ['-p', ref.replace('heads', 'merged')]);
  const both = git('base.git', ...IDENTITY, 'commit-tree', ...tips, '-m', 'x', 'main^{tree}');
  git('base.git', 'update-ref', 'refs/heads/main', both);
  let begun = false;
  /** The ledger's answers: tasks arrive while the first context is removed. */
  const hasTasks = (contextId: string): boolean => {
    if (contextId === 'a-first') {
      begun = true;
      for (const name of ['b-tree', 'c-branch']) {
        const commit = git('results.git', ...IDENTITY, 'commit-tree', '-m', 'x', `fleet/${name}^{tree}`);
        git('results.git', 'update-ref', `refs/heads/fleet/${name}`, commit);
      }
    }
    return begun && ['b-older', 'd-task'].includes(contextId);
  };
  const contextIds = (after: string): string[] => (begun && after === '' ? [hashed] : []);
  assert.deepEqual(await prune({ hasTasks, contextIds }), { contexts: 2, results: 1 });
  const [last, ...others] = branches().reverse();
  assert.deepEqual([others, last?.slice(0, 2)], [['d-task', 'c-branch', 'b-tree', 'b-older'], 'h-']);
});

const IDENTITY = ['-c', 'user.name=x', '-c', 'user.email=x@localhost'];

test('many checkouts are looked through with one process at a time', async (t) => {
  const { contexts, at } = await open(t);
  const mine = makeCheckout(t);
  const commit = mine.commit({ 'a.txt': '1\n' });
  mine.send(commit);
  await contexts.task('c0', 'echo r > r.txt', mine.at(commit));
  for (let nth = 1; nth < 8; nth += 1)
    cpSync(at('checkouts/c0'), at(`checkouts/c${nth}`), { recursive: true });
  const { workspaces } = await contexts.restart();
  let most = 0;
  const running = new Set<ChildProcess>();
  const count = (message: unknown): void => {
    const { process } = z.object({ process: z.instanceof(ChildProcess) }).parse(message);
    most = Math.max(most, running.add(process).size);
    process.once('exit', () => running.delete(process));
  };
  subscribe('child_process', count);
  t.after(() => unsubscribe('child_process', count));
  await storesOf({ ...contexts, workspaces }).store.prune({
    ...tasksOf('c0'),
    unusedBefore: 0,
    resultsBefore: undefined,
    signal: AbortSignal.timeout(60_000),
  });
  assert.equal(most, 1);
});

test('a context that names no id, as a crash can leave it, has its days from its making, and its tasks keep it', async (t) => {
  const { contexts, folders, age, prune, at } = await open(t);
  for (const name of ['recent-one', 'needed', 'old']) {
    await work(contexts, name);
    rmSync(at(`contexts/${name}/context`));
  }
  for (const name of ['needed', 'old']) age(`contexts/${name}`, 31);
  assert.deepEqual(await prune(tasksOf('needed')), { contexts: 1, results: 0 });
  assert.deepEqual(folders(), ['needed', 'recent-one']);
  await contexts.task('needed', 'true');
  assert.deepEqual(await prune(), { contexts: 0, results: 0 }, 'it was used');
});

test('a result without a context goes after its own time, which is not the one of its commit, or when it is merged', async (t) => {
  const { contexts, age, prune, branches, git, at, store, root } = await open(t);
  for (const name of ['old', 'recent', 'merged', 'used', 'needed', 'no-log']) {
    await contexts.task(
      name,
      `echo ${name} > ${name}.txt; git add -A; GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git commit -qm x`,
    );
    if (name !== 'used') await store.remove(name, { results: 'keep' });
  }
  for (const name of ['old', 'used', 'needed']) age(`results.git/logs/refs/heads/fleet/${name}`, 91);
  age('results.git/logs/refs/heads/fleet/recent', 89);
  rmSync(at('results.git/logs/refs/heads/fleet/no-log'));
  git('results.git', 'pack-refs', '--all');
  const needed = tasksOf('needed');
  assert.deepEqual(await prune(needed), { contexts: 0, results: 0 }, 'by default, unmerged results stay');
  git(
    'base.git',
    '-c',
    'protocol.allow=always',
    'fetch',
    '-q',
    join(root, 'results.git'),
    '+fleet/merged:main',
  );
  const blob = git('results.git', 'rev-parse', 'fleet/old:old.txt');
  const resultsBefore = Date.now() - 90 * DAY_MS;
  assert.deepEqual(await prune({ ...needed, resultsBefore }), { contexts: 0, results: 2 });
  assert.deepEqual(branches(), ['needed', 'no-log', 'recent', 'used']);
  assert.equal(objectsOf(contexts, 'results.git').includes(blob), false);
  assert.equal((await contexts.task('recent', 'cat recent.txt')).stdout, 'recent\n');
});

test('a context that cannot be removed is logged, keeps none of the others, and goes later', {
  skip: process.getuid?.() === 0 ? false : 'only root may give a folder to another group',
}, async (t) => {
  const log = recordingLog();
  const contexts = await openTestContexts(t, { log, confine: 'uid' });
  const { store, folders, root } = storesOf(contexts);
  const then = new Date(Date.now() - 31 * DAY_MS);
  for (const name of ['a', 'b', 'c']) {
    await work(contexts, name);
    utimesSync(join(root, 'contexts', name, 'context'), then, then);
  }
  const stuck = join(root, 'contexts/b');
  const { gid } = statSync(stuck);
  chownSync(stuck, 0, 4242);
  const options = { ...tasksOf(), unusedBefore: Date.now() - 30 * DAY_MS, resultsBefore: undefined };
  const prune = () => store.prune({ ...options, signal: AbortSignal.timeout(60_000) });
  assert.deepEqual(await prune(), { contexts: 2, results: 0 });
  const [left = '', ...others] = folders();
  assert.deepEqual([left.slice(0, -36), others], ['.removed-b-', []]);
  assert.match(JSON.stringify(log), /outside of HERMES_COMMAND_USERS.*the next try is in an hour/);
  await assert.rejects(store.remove('b', { results: 'delete' }), /outside of the configured range/);
  chownSync(join(root, 'contexts', left), 0, gid);
  await prune();
  assert.deepEqual(folders(), []);
});
