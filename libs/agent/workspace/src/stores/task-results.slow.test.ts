import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { FleetError } from '@hermes-fleet/protocol';
import type { ResultCommits, ResultContent, TaskResults } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Contexts, openTestContexts } from '../../testing/index.ts';

const signal = new AbortController().signal;

function git(dir: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=u', '-c', 'user.email=u@localhost', '-c', 'init.defaultBranch=trunk'];
  return execFileSync('git', [...identity, '-C', dir, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** A user's repository with two files. */
function usersProject(t: TestContext): string {
  const path = join(tempDir(t), 'project');
  mkdirSync(path);
  git(path, 'init', '-q');
  writeFileSync(join(path, 'a.txt'), 'one\ntwo\nthree\n');
  writeFileSync(join(path, 'old.txt'), `${'moved\n'.repeat(20)}`);
  git(path, 'add', '-A');
  git(path, 'commit', '-qm', 'Start');
  return path;
}

async function result(contexts: Contexts, context: string, script: string): Promise<ResultCommits> {
  await using workspace = await contexts.open(context);
  await workspace.begin(true);
  const run = await contexts.sh(workspace, script);
  assert.equal(run.exitCode, 0, run.stderr);
  const { delivery } = await workspace.commit('Task');
  const { base, commit, branch } = delivery ?? assert.fail('nothing changed');
  return { contextId: context, repository: null, branch, base: base ?? '', commit: commit ?? '' };
}

async function textOf(content: Promise<ResultContent>): Promise<string> {
  await using opened = await content;
  const text = readFileSync(opened.path, 'utf8');
  assert.equal(Buffer.byteLength(text), opened.bytes);
  return text;
}

const resultsOf = ({ workspaces }: Contexts): TaskResults => workspaces.results ?? assert.fail('no results');
const noResult = (message: RegExp) => (error: FleetError) =>
  error.code === 'NO_RESULT' && message.test(error.message);
const NEWLINE = 'odd\nname "x" é.txt';
const CHANGE = `printf 'one\\n2\\nthree\\n' > a.txt; git mv old.txt new.txt; printf '\\0\\001' > data.bin
  ln -s a.txt link; mkdir dir; echo x > 'dir/:(top)*'; echo odd > '${NEWLINE}'; echo no > PROGRESS.json`;

test('a result is read as a diff, as files and as a bundle, and nothing of it stays on the disk', async (t) => {
  const path = usersProject(t);
  const contexts = await openTestContexts(t, { path });
  const one = await result(contexts, 'one', CHANGE);
  const results = resultsOf(contexts);
  const diff = await textOf(results.diff(one, { stat: false, signal }));
  assert.match(diff, /^diff --git a\/a\.txt b\/a\.txt\n/);
  assert.match(diff, /\n-two\n\+2\n/);
  assert.match(diff, /rename from old\.txt\nrename to new\.txt\n/);
  assert.match(diff, /\nGIT binary patch\n/);
  assert.doesNotMatch(diff, /PROGRESS/);
  const ofOne = await textOf(results.diff(one, { path: 'a.txt', stat: false, signal }));
  assert.match(ofOne, /^diff --git a\/a\.txt b\/a\.txt\n.*\+2\n three\n$/s);
  assert.equal(await textOf(results.diff(one, { path: '*', stat: false, signal })), '');
  assert.match(
    await textOf(results.diff(one, { stat: true, signal })),
    / a\.txt +\| +2 \+-\n.* files changed, /s,
  );

  assert.equal(await textOf(results.file(one, 'a.txt', { signal })), 'one\n2\nthree\n');
  assert.equal(await textOf(results.file(one, NEWLINE, { signal })), 'odd\n');
  assert.equal(await textOf(results.file(one, 'dir/:(top)*', { signal })), 'x\n');
  for (const [file, why] of [
    ['link', /symbolic link to a\.txt/],
    ['dir', /folder/],
    ['old.txt', /no such file/],
    ['dir/../a.txt', /no file of a result has the path/],
    ['/etc/passwd', /no file of a result has the path/],
    ['a.txt/', /no file of a result has the path/],
    ['a\0.txt', /no file of a result has the path/],
    ['--help', /no such file/],
    ['a*', /no such file/],
  ] as const)
    await assert.rejects(results.file(one, file, { signal }), noResult(why), file);

  const two = await result(contexts, 'one', 'echo more >> a.txt');
  await using bundle = await results.bundle(two, { whole: false, signal });
  git(path, 'fetch', '-q', bundle.path, `refs/heads/${two.branch}:refs/heads/taken`);
  assert.equal(git(path, 'rev-parse', 'taken'), two.commit);
  assert.equal(git(path, 'log', '--format=%s', 'taken'), 'Task\nTask\nStart');
  git(path, 'fsck', '--strict');
  const empty = tempDir(t);
  git(empty, 'init', '-q');
  assert.throws(() => git(empty, 'fetch', '-q', bundle.path, two.branch));
  await using whole = await results.bundle(two, { whole: true, signal });
  git(empty, 'fetch', '-q', whole.path, `${two.branch}:taken`);
  assert.equal(git(empty, 'log', '--format=%s', 'taken'), 'Task\nTask\nStart');
  await bundle[Symbol.asyncDispose]();
  await whole[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(join(contexts.place.workspaceRoot, 'results.git/packs')), []);
});

test('a result that went with its context is named as gone, and a merged one is still there', async (t) => {
  const path = usersProject(t);
  const contexts = await openTestContexts(t, { path });
  const [gone, merged] = [
    await result(contexts, 'gone', 'echo 1 > b'),
    await result(contexts, 'merged', 'echo 2 > c'),
  ];
  const results = resultsOf(contexts);
  await contexts.workspaces.contexts?.remove('gone', { results: 'delete' });
  execFileSync('git', ['-C', join(contexts.place.workspaceRoot, 'results.git'), 'prune', '--expire=now']);
  await assert.rejects(results.diff(gone, { stat: false, signal }), noResult(/gone/));
  await assert.rejects(results.bundle(gone, { whole: false, signal }), noResult(/gone/));
  await assert.rejects(results.file(gone, 'b', { signal }), noResult(/gone/));
  await using bundle = await results.bundle(merged, { whole: false, signal });
  git(path, 'fetch', '-q', bundle.path, merged.branch);
  git(path, 'merge', '-q', '--ff-only', 'FETCH_HEAD');
  assert.equal((await contexts.workspaces.contexts?.remove('merged', { results: 'keep' }))?.result, 'merged');
  assert.match(await textOf(results.diff(merged, { stat: false, signal })), /\+2/);
  await using again = await results.bundle(merged, { whole: false, signal });
  assert.ok(again.bytes > 0);
});

test('a diff that is too large names its limit and what to ask for', async (t) => {
  const contexts = await openTestContexts(t, { path: usersProject(t) });
  const one = await result(contexts, 'one', 'head -c 70m /dev/urandom > big');
  const results = resultsOf(contexts);
  await assert.rejects(results.diff(one, { stat: false, signal }), {
    code: 'ARTIFACT_TOO_LARGE',
    message:
      'the diff is larger than 64 MiB: ask for `stat`, one path, or the bundle (fleet diff --stat, fleet diff <id> <path>, fleet pull)',
  });
  assert.match(await textOf(results.diff(one, { stat: true, signal })), /big/);
});

test('the history of a shallow clone is not given as a whole', async (t) => {
  const path = join(tempDir(t), 'shallow');
  const source = usersProject(t);
  git(source, 'commit', '-q', '--allow-empty', '-m', 'Second');
  execFileSync('git', ['clone', '-q', '--depth', '1', `file://${source}`, path]);
  const contexts = await openTestContexts(t, { path });
  const one = await result(contexts, 'one', 'echo 1 > b');
  await assert.rejects(
    resultsOf(contexts).bundle(one, { whole: true, signal }),
    noResult(new RegExp(`has the commit ${one.base}`)),
  );
  await using bundle = await resultsOf(contexts).bundle(one, { whole: false, signal });
  git(source, 'fetch', '-q', bundle.path, one.branch);
});

test('the work of a task in place is read from the user’s repository', async (t) => {
  const path = usersProject(t);
  const contexts = await openTestContexts(t, { path, isolation: 'in_place', confine: 'unconfined' });
  const one = await result(contexts, 'one', 'echo 1 > b');
  assert.deepEqual([one.branch, one.commit], ['trunk', git(path, 'rev-parse', 'HEAD')]);
  const results = resultsOf(contexts);
  assert.match(await textOf(results.diff(one, { stat: false, signal })), /^diff --git a\/b b\/b\n/);
  assert.equal(await textOf(results.file(one, 'b', { signal })), '1\n');
  await using bundle = await results.bundle(one, { whole: true, signal });
  const empty = tempDir(t);
  git(empty, 'init', '-q');
  git(empty, 'bundle', 'verify', '-q', bundle.path);
});
