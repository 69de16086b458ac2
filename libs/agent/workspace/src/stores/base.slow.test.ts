import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, tempDir } from '@hermes-fleet/protocol/testing';
import { openTestContexts } from '../../testing/index.ts';
import { WorkspaceRefused } from './workspace-refused.ts';

/** A user's repository with two commits on the branch `trunk`. */
function usersProject(t: TestContext) {
  const root = tempDir(t);
  chmodSync(root, 0o755);
  const path = join(root, 'project');
  mkdirSync(path);
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=u', '-c', 'user.email=u@localhost', '-C', path, ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  const commit = (file: string, text: string): string => {
    writeFileSync(join(path, file), text);
    git('add', '--all');
    git('commit', '-q', '-m', `Add ${file}`);
    return git('rev-parse', 'HEAD');
  };
  git('init', '-q', '-b', 'trunk');
  commit('a.txt', 'a');
  commit('b.txt', 'b');
  return { root, path, git, commit };
}

test('contexts start from the commit that is checked out in the user’s repository, which nobody writes to', async (t) => {
  const user = usersProject(t);
  user.git('branch', 'secret');
  writeFileSync(join(user.path, 'untracked.txt'), 'mine');
  const before = execFileSync('find', [user.path, '-printf', '%p %T@ %m\n'], { encoding: 'utf8' });
  const contexts = await openTestContexts(t, { path: user.path });
  const one = await contexts.task('one', 'ls; git log --format=%s; git branch -a; echo 1 > c.txt');
  assert.equal(one.stdout, 'a.txt\nb.txt\nAdd b.txt\nAdd a.txt\n* fleet/one\n', one.stderr);
  assert.deepEqual(one.changed, ['c.txt']);
  const reached = await contexts.task('one', `touch ${user.path}/x || cat ${user.path}/a.txt`);
  assert.equal(reached.stdout, '');
  assert.deepEqual(await contexts.workspaces.repoState(), {
    branch: 'trunk',
    clean: true,
    baseClean: false,
  });
  assert.equal(execFileSync('find', [user.path, '-printf', '%p %T@ %m\n'], { encoding: 'utf8' }), before);

  rmSync(join(user.path, 'untracked.txt'));
  user.commit('d.txt', 'd');
  assert.match((await contexts.task('two', 'ls; git log --format=%s')).stdout, /d\.txt\nAdd d\.txt/);
  assert.doesNotMatch(
    (await contexts.task('one', 'ls')).stdout,
    /d\.txt/,
    'an older context stays where it is',
  );
});

test('a history that the user rewrites and prunes does not break the contexts that started from it', async (t) => {
  const user = usersProject(t);
  const contexts = await openTestContexts(t, { path: user.path });
  await contexts.task('one', 'echo 1 > c.txt');
  user.git('checkout', '-q', '--orphan', 'fresh');
  user.commit('e.txt', 'e');
  user.git('branch', '-D', 'trunk');
  user.git(
    '-c',
    'gc.reflogExpire=now',
    '-c',
    'gc.reflogExpireUnreachable=now',
    'reflog',
    'expire',
    '--expire=now',
    '--all',
  );
  user.git('gc', '-q', '--prune=now');
  assert.equal((await contexts.task('two', 'git log --format=%s')).stdout, 'Add e.txt\n');
  const one = await contexts.task('one', 'git log --format=%s; git fsck --no-dangling; echo 2 > d.txt');
  assert.deepEqual([one.stdout, one.changed], ['Task\nAdd b.txt\nAdd a.txt\n', ['d.txt']]);
  user.git('checkout', '-q', '--detach');
  const again = await contexts.restart();
  assert.equal((await again.task('three', 'git log --format=%s')).stdout, 'Add e.txt\n');
});

test('a shallow clone is a base', async (t) => {
  const user = usersProject(t);
  const path = join(user.root, 'shallow');
  execFileSync('git', ['clone', '-q', '--depth', '1', `file://${user.path}`, path]);
  const contexts = await openTestContexts(t, { path });
  for (const context of [contexts, await contexts.restart()]) {
    const one = await context.task('one', 'git log --format=%s; git fsck 2>&1; echo 1 >> c.txt');
    assert.match(one.stdout, /^(Task\n)?Add b\.txt\n$/, one.stdout);
    assert.deepEqual(one.changed, ['c.txt']);
    rmSync(join(context.place.workspaceRoot, 'contexts/one'), { recursive: true });
  }
});

test('a shallow clone that is deepened is still a base, for old contexts and new ones', async (t) => {
  const user = usersProject(t);
  for (const file of ['c.txt', 'd.txt', 'e.txt']) user.commit(file, file);
  const path = join(user.root, 'shallow');
  execFileSync('git', ['clone', '-q', '--depth', '1', `file://${user.path}`, path]);
  const contexts = await openTestContexts(t, { path });
  await contexts.task('one', 'echo 1 > f.txt');
  execFileSync('git', ['-C', path, 'fetch', '-q', '--deepen=2']);
  user.commit('g.txt', 'g');
  execFileSync('git', ['-C', path, 'pull', '-q']);
  const two = await contexts.task('two', 'git log --format=%s; git fsck --no-dangling 2>&1; echo 1 > f.txt');
  assert.deepEqual([two.stdout, two.changed], ['Add g.txt\nAdd e.txt\n', ['f.txt']], two.stderr);
  const one = await contexts.task('one', 'git log --format=%s; echo 2 > f.txt');
  assert.deepEqual([one.stdout, one.changed], ['Task\nAdd e.txt\n', ['f.txt']], one.stderr);
});

test('a partial clone that lacks files is refused with the command that mends it for good', async (t) => {
  const user = usersProject(t);
  user.commit('b.txt', 'changed');
  user.git('config', 'uploadpack.allowFilter', 'true');
  const path = join(user.root, 'partial');
  const sh = (command: string): void => void execFileSync('sh', ['-c', command], { cwd: path });
  execFileSync('git', ['clone', '-q', '--filter=blob:none', `file://${user.path}`, path]);
  let remedy = '';
  await assert.rejects(openTestContexts(t, { path }), ({ code, message }: FleetError) => {
    assert.equal(code, 'CONFIG_INVALID');
    assert.match(
      message,
      /workspace\.path: .*partial cannot be used: it is a partial clone \(remote\.origin\.promisor\)/,
    );
    remedy = /run '(.+)' in it, or use a clone that was made without --filter/.exec(message)?.[1] ?? '';
    return true;
  });
  sh(`${remedy} 2>&1`);
  const contexts = await openTestContexts(t, { path });
  const one = await contexts.task('one', 'git log -p --format=%s | grep -c "^+"; echo 1 > c.txt');
  assert.deepEqual([one.exitCode, one.changed], [0, ['c.txt']], one.stderr);
  for (const text of ['1', '2']) user.commit('b.txt', text);
  sh('git pull -q');
  assert.equal((await contexts.task('two', 'cat b.txt; git fsck')).stdout, '2');
});

test('a partial clone that comes to lack files blocks tasks, and accepts none until it is mended', async (t) => {
  const user = usersProject(t);
  user.git('config', 'uploadpack.allowFilter', 'true');
  const path = join(user.root, 'partial');
  execFileSync('git', ['clone', '-q', '--filter=blob:none', `file://${user.path}`, path]);
  let now = 0;
  const clock = { ...systemClock, now: () => now };
  const contexts = await openTestContexts(t, { path, clock });
  const problem = async (): Promise<string | undefined> => {
    now += 2000;
    return (await contexts.workspaces.repoState()).problem;
  };
  assert.deepEqual((await contexts.task('one', 'cat a.txt; echo 1 > c.txt')).changed, ['c.txt']);
  for (const text of ['1', '2']) user.commit('b.txt', text);
  execFileSync('git', ['-C', path, 'pull', '-q'], { stdio: 'pipe' });
  assert.equal(await problem(), undefined, 'nobody has asked for the commit');
  await assert.rejects(contexts.task('two', 'ls'), (error: unknown) => {
    assert.ok(error instanceof WorkspaceRefused);
    assert.match(error.message, /cannot be used: it is a partial clone/);
    return true;
  });
  assert.match((await problem()) ?? '', /it is a partial clone/);
  execFileSync('git', ['-C', path, 'fetch', '-q', '--refetch', '--no-filter', 'origin'], { stdio: 'pipe' });
  assert.equal(await problem(), undefined);
  assert.equal((await contexts.task('two', 'cat b.txt')).stdout, '2');
});

test('a branch of the user’s whose name begins with that of a former one is a base', async (t) => {
  const user = usersProject(t);
  user.git('checkout', '-q', '-b', 'feature');
  const contexts = await openTestContexts(t, { path: user.path });
  await contexts.task('one', 'echo 1 > c.txt');
  user.git('checkout', '-q', '-b', 'feature-x');
  user.git('branch', '-D', 'feature');
  user.git('checkout', '-q', '-b', 'feature/x');
  assert.equal((await contexts.task('two', 'ls')).stdout, 'a.txt\nb.txt\n');
  assert.equal((await (await contexts.restart()).workspaces.repoState()).branch, 'feature/x');
});

test('a path that is no usable repository is named, with the field', async (t) => {
  const user = usersProject(t);
  const refused = async (path: string, reason: RegExp): Promise<void> => {
    await assert.rejects(openTestContexts(t, { path }), { code: 'CONFIG_INVALID', message: reason });
  };
  mkdirSync(join(user.root, 'plain'));
  await refused(
    join(user.root, 'plain'),
    /workspace\.path: .*plain cannot be used: it is not a git repository/,
  );
  await refused(join(user.root, 'nothing'), /does not exist/);
  const empty = join(user.root, 'empty');
  execFileSync('git', ['init', '-q', empty]);
  await refused(empty, /with a commit that commands can read/);
  const sha256 = join(user.root, 'sha256');
  execFileSync('git', ['init', '-q', '--object-format=sha256', sha256]);
  execFileSync('git', [
    '-C',
    sha256,
    '-c',
    'user.name=u',
    '-c',
    'user.email=u@x',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'x',
  ]);
  await refused(sha256, /object format is not SHA-1/);
  const pack = join(user.path, '.git/objects');
  for (const name of readdirSync(pack)) if (name.length === 2) rmSync(join(pack, name), { recursive: true });
  await refused(user.path, /cannot be used: /);
});

test('without a path the base is the profile’s own, and a commit that is pushed there is where contexts start', async (t) => {
  const user = usersProject(t);
  const contexts = await openTestContexts(t);
  await contexts.task('one', 'echo 1 > a');
  user.git('push', '-q', '--force', join(contexts.place.workspaceRoot, 'base.git'), 'trunk:main');
  assert.equal((await contexts.task('two', 'ls')).stdout, 'a.txt\nb.txt\n');
  assert.equal((await contexts.task('one', 'cat a; echo 2 > b')).stdout, '1\n');
  assert.deepEqual(await contexts.workspaces.repoState(), { branch: 'main', clean: true });
});

test('locks that a power cut left in a store go at the next start', async (t) => {
  const user = usersProject(t);
  const contexts = await openTestContexts(t, { path: user.path });
  await contexts.task('one', 'echo 1 > c.txt');
  const root = contexts.place.workspaceRoot;
  const locks = ['refs/heads/fleet/one.lock', 'refs/contexts/one.lock', 'packed-refs.lock', 'HEAD.lock'];
  for (const lock of locks) writeFileSync(join(root, 'results.git', lock), '');
  const commit = user.commit('d.txt', 'd');
  writeFileSync(join(root, `base.git/refs/bases/${commit}.lock`), '');
  const again = await contexts.restart();
  assert.deepEqual((await again.task('one', 'echo 2 > c.txt')).changed, ['c.txt']);
  assert.match((await again.task('two', 'ls')).stdout, /d\.txt/);
});

test('a broken store is a problem at once, and at the next start all that is whole is saved', async (t) => {
  const log = recordingLog();
  const contexts = await openTestContexts(t, { log });
  const root = contexts.place.workspaceRoot;
  for (const name of ['one', 'two']) await contexts.task(name, `echo ${name} > file.txt`);
  const results = (...args: string[]): string =>
    execFileSync('git', ['-C', join(root, 'results.git'), ...args], { encoding: 'utf8' }).trim();
  const two = results('rev-parse', 'fleet/two');
  results('repack', '-a', '-d', '-q', '-l');
  // The objects of one branch are damaged: unpacked, its tree is removed.
  const packs = join(root, 'results.git/objects/pack');
  for (const name of readdirSync(packs).filter((file) => file.endsWith('.pack')))
    execFileSync('sh', ['-c', UNPACK, 'sh', join(packs, name)], {
      env: { ...process.env, GIT_DIR: join(root, 'results.git') },
    });
  const gone = results('rev-parse', 'fleet/one');
  rmSync(join(root, 'results.git/objects', gone.slice(0, 2), gone.slice(2)));
  assert.match((await contexts.workspaces.repoState()).problem ?? '', /git cannot read results\.git/);

  const again = await contexts.restart();
  const told = log.entries.find(({ message }) => message.startsWith('a broken repository was moved aside'));
  assert.deepEqual((told?.fields as { lost?: string[] } | undefined)?.lost, ['refs/heads/fleet/one']);
  assert.equal(results('rev-parse', 'fleet/two'), two);
  assert.equal((await again.workspaces.repoState()).problem, undefined);
  for (const name of ['one', 'two'])
    assert.equal((await again.task(name, 'cat file.txt; echo 2 > more.txt')).stdout, `${name}\n`);
  assert.equal(results('fsck', '--full'), '');

  rmSync(join(root, 'base.git/objects'), { recursive: true });
  const last = await again.restart();
  for (const name of ['one', 'three']) {
    const run = await last.task(name, 'ls; echo 3 > last.txt');
    assert.deepEqual([run.exitCode, run.changed.includes('last.txt')], [0, true], run.stderr);
  }
  assert.ok(readdirSync(root).some((name) => name.startsWith('base.git.broken-')));
});

const UNPACK = `mv "$1" "$1.moved"; rm -f "\${1%.pack}.idx" "\${1%.pack}.rev"; git unpack-objects -q <"$1.moved"; rm "$1.moved"`;
