import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { makePlace, mayChangeUsers, openTestContexts } from '../../testing/index.ts';

/** A workspace as 0.1.0 left it: the contexts are worktrees of `repo`, and belong to the user of the commands. */
function oldWorkspace(t: TestContext) {
  const place = makePlace(t);
  mkdirSync(place.workspaceRoot);
  const root = realpathSync(place.workspaceRoot);
  const git = (dir: string, ...args: string[]): string => {
    const identity = ['-c', 'user.name=old', '-c', 'user.email=old@localhost', '-c', 'safe.directory=*'];
    return execFileSync('git', [...identity, '-C', join(root, dir), ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  };
  mkdirSync(join(root, 'repo'));
  mkdirSync(join(root, 'contexts'));
  git('repo', 'init', '-q', '-b', 'main');
  writeFileSync(join(root, 'repo/.gitignore'), 'ignored\n');
  git('repo', 'add', '--all');
  git('repo', 'commit', '-q', '-m', 'Start the workspace');
  const context = (name: string): string => {
    git(
      'repo',
      'worktree',
      'add',
      '-q',
      '--no-track',
      '-b',
      `fleet/${name}`,
      join(root, 'contexts', name),
      'HEAD',
    );
    writeFileSync(join(root, 'contexts', name, 'done.txt'), name);
    git(`contexts/${name}`, 'add', '--all');
    git(`contexts/${name}`, 'commit', '-q', '-m', `Task of ${name}`);
    return git(`contexts/${name}`, 'rev-parse', 'HEAD');
  };
  const open = (options: Parameters<typeof openTestContexts>[1] = {}) => {
    const own = ['repo', 'contexts'].map((name) => join(root, name)).filter((path) => existsSync(path));
    if (mayChangeUsers && !existsSync(join(root, 'results.git')))
      execFileSync('chown', ['-R', '1001:1001', ...own]);
    return openTestContexts(t, { place, ...options });
  };
  return { root, place, git, context, open };
}

test('the contexts and branches of an older workspace are taken over with all their work', async (t) => {
  const { root, git, context, open } = oldWorkspace(t);
  const one = context('one');
  const gone = context('gone');
  git('repo', 'worktree', 'remove', '--force', join(root, 'contexts/gone'));
  context('locked');
  writeFileSync(join(root, 'repo/.git/worktrees/locked/index.lock'), '');
  writeFileSync(join(root, 'contexts/one/open.txt'), 'not committed');
  writeFileSync(join(root, 'contexts/one/ignored'), 'kept');
  writeFileSync(join(root, 'contexts/one/PROGRESS.json'), '{}');
  const before = git('repo', 'for-each-ref', '--format=%(refname)');

  const contexts = await open();
  assert.deepEqual(git('repo', 'for-each-ref', '--format=%(refname)'), before, 'the old repository stays');
  assert.equal(git('results.git', 'rev-parse', 'fleet/one~1', 'fleet/gone'), `${one}\n${gone}`);
  assert.equal(
    git('results.git', 'log', '-1', '--format=%s', 'fleet/one'),
    'What an earlier task left behind',
  );
  const next = await contexts.task(
    'one',
    'cat done.txt open.txt ignored PROGRESS.json; git log --format=%s; echo 1 > new.txt',
  );
  assert.equal(
    next.stdout,
    'onenot committedkept{}What an earlier task left behind\nTask of one\nStart the workspace\n',
    next.stderr,
  );
  assert.deepEqual(next.changed, ['new.txt']);
  assert.equal((await contexts.task('gone', 'cat done.txt')).stdout, 'gone');
  assert.deepEqual((await contexts.task('locked', 'echo 2 > more.txt')).changed, ['more.txt']);

  const tip = git('results.git', 'rev-parse', 'fleet/one');
  const again = await open();
  assert.equal(git('results.git', 'rev-parse', 'fleet/one'), tip, 'an old branch does not come back');
  assert.equal((await again.task('one', 'cat new.txt')).stdout, '1\n');
});

test('files that a task closed to everybody do not keep the profile from its start, and are kept', async (t) => {
  const { root, context, open } = oldWorkspace(t);
  context('one');
  const tree = join(root, 'contexts/one');
  mkdirSync(join(tree, 'closed'));
  for (const name of ['closed/a', 'b']) writeFileSync(join(tree, name), name);
  for (const name of ['closed/a', 'closed', 'b']) chmodSync(join(tree, name), 0);
  const next = await (await open()).task('one', 'chmod -R u+rwX .; cat closed/a b done.txt');
  assert.equal(next.stdout, 'closed/abone', next.stderr);
});

test('a take-over that a crash interrupted is completed, wherever it was', async (t) => {
  for (const at of ['before the move', 'between the moves', 'before the set-up'] as const) {
    const { root, context, open } = oldWorkspace(t);
    context('one');
    writeFileSync(join(root, 'contexts/one/open.txt'), 'open');
    if (at === 'before the move') mkdirSync(join(root, 'contexts/.moved-one'));
    else {
      await open();
      if (at === 'between the moves')
        renameSync(join(root, 'contexts/one'), join(root, 'contexts/.moved-one'));
    }
    const contexts = await open();
    const next = await contexts.task('one', 'cat done.txt open.txt');
    assert.deepEqual([next.stdout, next.changed], ['oneopen', []], at);
    assert.deepEqual(readdirSync(join(root, 'contexts')).sort(), ['.copied', 'one'], at);
  }
});

test('an old repository that a command broke costs the profile neither its start nor the files', async (t) => {
  const { root, context, open } = oldWorkspace(t);
  const log = recordingLog();
  context('one');
  writeFileSync(join(root, 'contexts/one/open.txt'), 'open');
  rmSync(join(root, 'repo/.git/objects'), { recursive: true });
  rmSync(join(root, 'repo/.git/refs'), { recursive: true });
  const contexts = await open({ log });
  const next = await contexts.task('one', 'cat done.txt open.txt');
  assert.equal(next.stdout, 'oneopen');
  assert.ok(readdirSync(root).some((name) => name.startsWith('repo.broken-')));
  assert.match(log.messages.join('\n'), /error: .*repo.* was moved aside/);
});

test('the branches that an older version left in the user’s repository are copied once', async (t) => {
  const { root, git, context, open, place } = oldWorkspace(t);
  const one = context('one');
  renameSync(join(root, 'repo'), join(place.stateDir, '../project'));
  const path = join(place.stateDir, '../project');
  execFileSync('git', [
    '-C',
    path,
    '-c',
    'safe.directory=*',
    'worktree',
    'repair',
    join(root, 'contexts/one'),
  ]);
  if (mayChangeUsers) execFileSync('chown', ['-R', '1001:1001', path]);
  const contexts = await open({ path });
  assert.equal(git('results.git', 'rev-parse', 'fleet/one'), one);
  assert.equal((await contexts.task('one', 'cat done.txt')).stdout, 'one');
  assert.match(readFileSync(join(root, 'contexts/.copied'), 'utf8'), /project\n$/);
});
