import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { openTestContexts, startForge } from '../../testing/index.ts';
import { killLeftovers } from '../confinement/leftovers.ts';
import type { RemoteRepository } from '../tree/repositories.ts';
import type { Opening } from '../tree/workspace.ts';
import { WorkspaceRefused } from './workspace-refused.ts';

const TOKEN = 'token-of-the-forge';

/** A clock that the test sets forward. */
function movable(): Clock & { forward(ms: number): void } {
  let moved = 0;
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + moved,
    forward(ms) {
      moved += ms;
    },
  };
}

async function scene(t: TestContext, options: Partial<RemoteRepository> = {}) {
  const forge = await startForge(t, { token: TOKEN });
  const first = forge.push('web', { 'a.txt': '1\n' });
  const clock = movable();
  const contexts = await openTestContexts(t, {
    repositories: [forge.remote('web', options), forge.remote('api')],
    clock,
  });
  const fetches = (): number =>
    forge.server.requests.filter(({ line }) => line.includes('upload-pack')).length;
  const refusal = async (context: string, repository?: Opening['repository']) => {
    const opened = contexts.open(context, repository).then(async (workspace) => {
      await workspace[Symbol.asyncDispose]();
      assert.fail('it was opened');
    });
    const error = await opened.catch((thrown: unknown) => thrown);
    if (!(error instanceof WorkspaceRefused)) throw error;
    const [unmet, ...others] = error.unmet;
    assert.deepEqual(others, []);
    assert.ok(!JSON.stringify(error.unmet).includes(TOKEN));
    return unmet ?? assert.fail('nothing is unmet');
  };
  return { ...contexts, contexts: { ...contexts, forge }, forge, first, clock, fetches, refusal };
}

const WEB = { name: 'web' };

test('a context starts from the newest commit of its repository, and goes on without it', async (t) => {
  const { task, open, forge, first, clock, sh, workspaces } = await scene(t);
  const one = await task('one', 'cat a.txt; echo x > b.txt; git log --format=%s', WEB);
  assert.deepEqual([one.stdout, one.changed], ['1\nChange a.txt\n', ['b.txt']]);
  const second = forge.push('web', { 'a.txt': '2\n' });
  clock.forward(10_000);
  assert.equal((await task('two', 'cat a.txt', WEB)).stdout, '2\n');
  await forge.server.stop();
  clock.forward(10_000);
  await using again = await open('one', WEB);
  await again.begin(true);
  await sh(again, 'cat a.txt b.txt > c.txt');
  const { delivery } = await again.commit('Task');
  assert.deepEqual(
    [delivery?.repository, delivery?.branch, await again.changedSince(delivery?.base ?? '')],
    ['web', 'fleet/one', ['c.txt']],
  );
  const of = {
    contextId: 'one',
    repository: 'web',
    branch: 'fleet/one',
    base: first,
    commit: delivery?.commit ?? '',
  };
  const signal = AbortSignal.timeout(10_000);
  await using diff =
    (await workspaces.results?.diff(of, { stat: false, signal })) ?? assert.fail('no results');
  assert.ok(diff.bytes > 0);
  assert.notEqual(first, second);
});

test('contexts that start within 10 s share one fetch, also one that failed', async (t) => {
  const { task, refusal, fetches, clock, forge } = await scene(t);
  await Promise.all(['a', 'b', 'c'].map((context) => task(context, 'true', WEB)));
  const once = fetches();
  await task('d', 'true', WEB);
  assert.equal(fetches(), once);
  clock.forward(10_000);
  await task('e', 'true', WEB);
  assert.ok(fetches() > once);
  const before = fetches();
  for (const context of ['f', 'g']) assert.equal((await refusal(context, { name: 'api' })).transient, false);
  assert.equal(
    forge.server.requests.slice(before).filter(({ line }) => line.includes('api.git')).length <= 2,
    true,
  );
});

test('a refusal says what is wrong, and whether waiting may help', async (t) => {
  const { refusal, forge, clock, task } = await scene(t, {
    allows: (branch) => branch.startsWith('release/'),
  });
  forge.push('web', { 'r.txt': 'r\n' }, 'release/1');
  assert.equal((await task('r', 'cat r.txt', { ...WEB, base: 'release/1' })).stdout, 'r\n');
  const shown = async (context: string, repository: Opening['repository']) => {
    const { kind, name, detail, transient } = await refusal(context, repository);
    assert.equal(kind, 'repo');
    return `${name} ${transient}: ${detail.replaceAll(/http:\/\/\S+?\//g, 'forge/')}`;
  };
  assert.deepEqual(
    [
      await shown('x', { ...WEB, base: 'topic' }),
      await shown('x', { ...WEB, base: 'release/2' }),
      await shown('x', { name: 'other' }),
      await shown('x', { name: 'api' }),
      await shown('r', { name: 'api' }),
      await shown('r', { ...WEB, base: 'main' }),
    ],
    [
      'web false: repository web: no context may start from its branch topic: name another, or add it to bases',
      'web false: repository web: forge/web.git has no branch release/2: push it, or name another one as base',
      'other false: repository other is not in workspace.repositories here',
      'api false: repository api: forge/api.git does not exist, or the token of token_env (FORGE_TOKEN) may not read it',
      'api false: the context began on repository web, and works on one repository: start a new context for another',
      'web false: the context began from branch release/1, and works on one repository: start a new context for another',
    ],
  );
  await forge.server.stop();
  clock.forward(10_000);
  const away = await refusal('x', WEB);
  assert.match(away.detail, /^repository web: http:.*web\.git cannot be reached: .*connect/i);
  assert.equal(away.transient, true);
});

test('with allow_stale_base a context starts from the last fetch while the remote is away, and the result says so', async (t) => {
  const { task, forge, clock, contexts } = await scene(t, { allowsStaleBase: true });
  await task('one', 'true', WEB);
  await forge.server.stop();
  clock.forward(10_000);
  const restarted = await contexts.restart();
  for (const [at, each] of [contexts, restarted].entries()) {
    await using two = await each.open(`stale-${at}`, WEB);
    await two.begin(false);
    await two.commit('Interrupted', { isTold: false });
    await two[Symbol.asyncDispose]();
    const again = await each.restart();
    await using three = await again.open(`stale-${at}`, WEB);
    await three.begin(false);
    const [{ todo, certain } = { todo: '', certain: false }] = (await three.commit('Task')).left;
    assert.equal(certain, true, 'also without changes');
    assert.deepEqual((await three.commit('Task')).left.length, 1);
    await three[Symbol.asyncDispose]();
    await using four = await again.open(`stale-${at}`, WEB);
    assert.deepEqual((await four.commit('Task')).left, [], 'once');
    assert.match(
      todo,
      /^compare with the newest commit of the branch: the work is based on main as it was fetched 20/,
    );
  }
});

test('another URL of a repository is another one, also while it is away', async (t) => {
  const { task, contexts, forge, clock } = await scene(t, { allowsStaleBase: true });
  await task('one', 'true', WEB);
  forge.push('api', { 'api.txt': 'api\n' });
  const moved = { ...forge.remote('api'), name: 'web', allowsStaleBase: true };
  const again = await openTestContexts(t, { place: contexts.place, repositories: [moved], clock });
  assert.equal((await again.task('two', 'ls', WEB)).stdout, 'api.txt\n');
  const dead = { ...moved, url: 'http://127.0.0.1:1/web.git' };
  const last = await openTestContexts(t, { place: contexts.place, repositories: [dead], clock });
  await assert.rejects(last.open('three', WEB), /127\.0\.0\.1:1\/web\.git cannot be reached/);
  assert.equal((await last.task('one', 'cat a.txt', WEB)).stdout, '1\n');
});

test('what else is in the folder of the repositories, and one that cannot be opened, keep nobody from the others', async (t) => {
  const { task, workspaces, contexts } = await scene(t);
  const { changed } = await task('one', 'echo 1 > b.txt');
  assert.deepEqual(changed, ['b.txt']);
  const repos = join(contexts.place.workspaceRoot, 'repos');
  mkdirSync(join(repos, 'broken'), { recursive: true });
  for (const name of ['notes.txt', 'broken/base.git']) writeFileSync(join(repos, name), '');
  const store = workspaces.contexts ?? assert.fail('no contexts');
  assert.equal((await store.held())('one'), true);
  assert.deepEqual(await store.remove('one', { results: 'delete' }), { files: true, result: 'deleted' });
  const nothing = { hasTasks: () => false, contextIds: () => [], signal: AbortSignal.timeout(60_000) };
  await store.prune({ ...nothing, unusedBefore: 0, resultsBefore: undefined });
});

test('a fault of this machine is not one of the remote', async (t) => {
  const { contexts, refusal, clock, task } = await scene(t, { allowsStaleBase: true });
  await task('one', 'true', WEB);
  clock.forward(10_000);
  const base = join(contexts.place.workspaceRoot, 'repos/web/base.git');
  const [ref = ''] = readdirSync(join(base, 'refs/fetched'));
  writeFileSync(join(base, 'refs/fetched', `${ref}.lock`), '');
  const { push } = contexts.forge;
  push('web', { 'a.txt': '2\n' });
  const { detail, transient } = await refusal('two', WEB);
  assert.match(detail, /cannot be fetched here: cannot lock ref/);
  assert.equal(transient, true);
});

test('a fetch that a killed gateway left running is ended by the next start', async (t) => {
  const { contexts, forge } = await scene(t);
  forge.server.hold();
  const { place } = contexts;
  const dir = join(place.stateDir, 'commands');
  const script = join(tempDir(t), 'gateway.ts');
  const remote = { ...forge.remote('web'), allows: undefined, token: undefined };
  const workspace = fileURLToPath(new URL('../index.ts', import.meta.url));
  const ports = import.meta.resolve('@hermes-fleet/protocol/ports');
  writeFileSync(
    script,
    `import { createCommandRecords, createConfinement, openWorkspaces, recorded } from ${JSON.stringify(workspace)};
    import { systemClock as clock } from ${JSON.stringify(ports)};
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const place = ${JSON.stringify({ workspaceRoot: place.workspaceRoot, stateDir: place.stateDir })};
    const made = await createConfinement({ confine: 'unconfined', ...place, clock, log });
    const confinement = recorded(made, createCommandRecords(${JSON.stringify(dir)}, { byEnv: true }));
    const remote = { ...${JSON.stringify(remote)}, allows: () => false, token: () => undefined };
    const options = { profile: 'neo', root: place.workspaceRoot, path: undefined, isolation: 'worktree' };
    const workspaces = await openWorkspaces({ ...options, repositories: [remote], confinement, clock, log });
    await workspaces.openWorkspace('one', { repository: { name: 'web' }, resumes: false, signal: AbortSignal.timeout(60000) });`,
  );
  const before = forge.server.requests.length;
  const gateway = spawn(process.execPath, [script], { stdio: ['ignore', 'inherit', 'inherit'] });
  while (forge.server.requests.length === before) await systemClock.sleep(10);
  gateway.kill('SIGKILL');
  await once(gateway, 'close');
  const running = (): boolean =>
    spawnSync('pgrep', ['-f', forge.server.url('web.git')], { encoding: 'utf8' }).stdout !== '';
  assert.equal(running(), true, 'the kill ends the gateway alone');
  await killLeftovers(dir, { clock: systemClock, log: silentLog });
  assert.equal(running(), false);
});

test('a token that the remote refuses is named, and not shown', async (t) => {
  const { refusal } = await scene(t, { token: () => 'wrong-token' });
  const { detail, transient } = await refusal('one', WEB);
  assert.match(detail, /refuses the token of token_env \(FORGE_TOKEN\): it may have expired/);
  assert.ok(!detail.includes('wrong-token'));
  assert.equal(transient, false);
});

test('the depth limits the history that is fetched, and a context keeps what it began with', async (t) => {
  const { task, forge, clock } = await scene(t, { depth: 2 });
  for (const text of ['2', '3', '4']) forge.push('web', { 'a.txt': text });
  const log = async (context: string): Promise<string> =>
    (await task(context, 'git rev-list --count HEAD; git fsck --no-dangling 2>&1; echo 5 > b.txt', WEB))
      .stdout;
  assert.equal(await log('one'), '2\n');
  for (const text of ['5', '6']) forge.push('web', { 'a.txt': text });
  clock.forward(10_000);
  assert.equal(await log('two'), '2\n');
  assert.equal(await log('one'), '3\n', 'and its own result');
});

test('a task that gives up ends the fetch that nobody else waits for, and the next one succeeds', async (t) => {
  const { workspaces, forge, task } = await scene(t);
  const giveUp = new AbortController();
  const states: string[] = [];
  const onFetch = async (state: string): Promise<void> => {
    states.push(state);
    giveUp.abort(new Error('given up'));
  };
  const opening = { repository: WEB, resumes: false, signal: giveUp.signal, onFetch };
  await assert.rejects(workspaces.openWorkspace('one', opening), /given up/);
  assert.deepEqual(states, ['started']);
  assert.equal((await task('one', 'cat a.txt', WEB)).stdout, '1\n');
  assert.ok(forge.server.requests.length > 0);
});

test('contexts of all repositories are removed and pruned alike', async (t) => {
  const { task, workspaces, clock } = await scene(t);
  await task('own', 'echo 1 > a');
  await task('web', 'echo 1 > b', WEB);
  await task('kept', 'echo 1 > b', WEB);
  const store = workspaces.contexts ?? assert.fail('no contexts');
  const held = await store.held();
  assert.deepEqual(['own', 'web', 'kept', 'none'].map(held), [true, true, true, false]);
  assert.deepEqual(await store.remove('web', { results: 'delete' }), { files: true, result: 'deleted' });
  assert.deepEqual(await store.remove('kept', { results: 'keep' }), { files: true, result: 'kept' });
  const nothing = { hasTasks: () => false, contextIds: () => [], signal: AbortSignal.timeout(60_000) };
  const later = clock.now() + 60_000;
  const pruned = await store.prune({ ...nothing, unusedBefore: later, resultsBefore: later });
  assert.deepEqual(pruned, { contexts: 1, results: 1 }, 'a result without its context is for the next time');
  assert.deepEqual(['own', 'web', 'kept'].map(await store.held()), [true, false, false]);
  assert.equal((await task('web', 'cat a.txt', WEB)).stdout, '1\n', 'the name is free');
  assert.equal((await task('kept', 'ls')).stdout, '', 'for any repository');
});
