import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { type Contexts, openTestContexts } from '../../testing/index.ts';

const git = ({ place }: Contexts, store: string, ...args: string[]): string =>
  execFileSync('git', ['-C', join(place.workspaceRoot, store), ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();

test('a task’s work is a commit on the branch of its context, and the next task goes on with it', async (t) => {
  const contexts = await openTestContexts(t);
  const first = await contexts.task(
    'one',
    'mkdir src; echo 1 > src/a.txt; echo x > .scratch; echo tmp > "$TMPDIR/t"',
  );
  assert.deepEqual([first.exitCode, first.changed, first.left], [0, ['src/a.txt'], undefined], first.stderr);
  const seen = await contexts.task(
    'one',
    'cat src/a.txt .scratch; ls -A "$TMPDIR" | wc -l; git log --format=%s; rm src/a.txt; touch b',
  );
  assert.equal(seen.stdout, '1\nx\n0\nTask\nStart the workspace\n', seen.stderr);
  assert.deepEqual(seen.changed, ['b', 'src/a.txt']);
  assert.equal(
    git(contexts, 'results.git', 'log', '--format=%s', 'fleet/one'),
    'Task\nTask\nStart the workspace',
  );
  assert.equal(git(contexts, 'base.git', 'for-each-ref', '--format=%(refname)'), 'refs/heads/main');
  const other = await contexts.task('two', 'ls -A; git branch -a');
  assert.equal(other.stdout.trim(), '.git\n* fleet/two');
});

test('a task that commits, branches and rewrites by itself keeps its work', async (t) => {
  const contexts = await openTestContexts(t);
  const commit = 'git add -A; git commit -qm';
  const made = await contexts.task(
    'one',
    `echo 1 > a; ${commit} own; git checkout -qb side; echo 2 > b; ${commit} more`,
  );
  assert.deepEqual([made.exitCode, made.changed], [0, ['a', 'b']], made.stderr);
  const rewritten = await contexts.task('one', `git reset -q --hard HEAD~1; echo 3 > c; ${commit} again`);
  assert.deepEqual([rewritten.exitCode, rewritten.changed], [0, ['a', 'b', 'c']], rewritten.stderr);
  const orphan = await contexts.task(
    'one',
    `git checkout -q --orphan new; git rm -rqf .; echo 4 > d; ${commit} root`,
  );
  assert.deepEqual([orphan.exitCode, orphan.changed], [0, ['c', 'd']], orphan.stderr);
});

/** Each breaks the repository of the context in another way; the files stay. */
const BREAKS = {
  'objects and refs are removed': 'd=$(git rev-parse --git-common-dir); rm -rf $d/objects $d/refs',
  'the repository is removed': 'rm -rf .git',
  'the index is garbage': 'echo broken > .git/index',
  'HEAD is garbage': 'echo broken > .git/HEAD',
  'the config is garbage': 'echo "[" > .git/config',
  'the repository is a link to another one': 'mv .git "$TMPDIR/moved"; ln -s /nonexistent .git',
  'the repository is a gitfile': 'rm -rf .git; echo "gitdir: /nonexistent" > .git',
  'the alternates are gone': 'rm .git/objects/info/alternates',
  'a lock is left': 'touch .git/index.lock .git/HEAD.lock',
};

test('a task that breaks its repository loses no work, and no other task notices', async (t) => {
  const log = recordingLog();
  const contexts = await openTestContexts(t, { log });
  await contexts.task('neighbour', 'echo 1 > theirs.txt');
  for (const [at, [what, script]] of Object.entries(BREAKS).entries()) {
    const name = `broken-${at}`;
    await contexts.task(name, 'echo 1 > before.txt');
    const broken = await contexts.task(name, `echo 2 > work.txt; ${script}`);
    assert.deepEqual([broken.exitCode, broken.changed, broken.left], [0, ['work.txt'], undefined], what);
    const next = await contexts.task(
      name,
      'cat before.txt work.txt; git log --format=%s; git status --porcelain',
    );
    assert.equal(next.stdout, '1\n2\nTask\nTask\nStart the workspace\n', what);
  }
  const neighbour = await contexts.task('neighbour', 'cat theirs.txt; git fsck 2>&1; echo 2 > more.txt');
  assert.deepEqual([neighbour.stdout, neighbour.changed], ['1\n', ['more.txt']]);
  assert.equal((await contexts.workspaces.repoState()).problem, undefined);
  const fresh = await contexts.task('fresh', 'echo 1 > a');
  assert.deepEqual(fresh.changed, ['a']);
  assert.equal((await (await contexts.restart()).task('neighbour', 'cat more.txt')).stdout, '2\n');
});

test('a context whose folder is gone comes back with its result', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('one', 'echo 1 > a.txt');
  rmSync(join(contexts.place.workspaceRoot, 'contexts/one'), { recursive: true });
  const back = await contexts.task('one', 'cat a.txt; echo 2 > b.txt');
  assert.deepEqual([back.stdout, back.changed], ['1\n', ['b.txt']]);
});

test('a workspace that was moved goes on with its contexts, their branches and its results', async (t) => {
  const log = recordingLog();
  const users = { first: 1_500_000_000, last: 1_500_000_099 };
  const before = await openTestContexts(t, { log, users });
  await before.task('one', 'echo 1 > a.txt; git branch side; echo broken > .git/index');
  await before.task('one', 'echo 2 > b.txt; git branch side');
  const interrupted = await before.open('two');
  const begun = await interrupted.begin(true);
  assert.ok('base' in begun);
  await before.sh(interrupted, 'echo 1 > a.txt; git add a.txt');
  await interrupted[Symbol.asyncDispose]();

  const place = { ...before.place, workspaceRoot: join(before.place.workspaceRoot, '../moved') };
  renameSync(before.place.workspaceRoot, place.workspaceRoot);
  const earlier = log.messages.length;
  const moved = await openTestContexts(t, { log, users, place });
  const subjects = git(moved, 'results.git', 'log', '--format=%s', 'fleet/one');
  assert.equal(subjects, 'Task\nTask\nStart the workspace');
  await using resumed = await moved.open('two');
  await resumed.resume(begun.base);
  const seen = await moved.sh(resumed, 'git status --porcelain; git log --format=%s');
  assert.deepEqual([seen.stdout, seen.stderr], ['A  a.txt\nStart the workspace\n', '']);
  const next = await moved.task(
    'one',
    'git log --format=%s side; git --git-dir=.git/replaced log side; echo 3 > c.txt',
  );
  assert.deepEqual(
    [next.stdout.split('\n').slice(0, 2), next.changed],
    [['Task', 'Start the workspace'], ['c.txt']],
  );
  assert.deepEqual([next.stderr, log.messages.slice(earlier)], ['', []]);
});

test('a set-up that a crash interrupted is done again', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('one', 'echo 1 > a.txt; echo 2 > b.txt');
  const dir = join(contexts.place.workspaceRoot, 'contexts/one');
  for (const path of ['ready', 'tree/.git/HEAD', 'tree/a.txt']) rmSync(join(dir, path));
  writeFileSync(join(dir, 'tree/b.txt'), 'half');
  const back = await contexts.task('one', 'cat a.txt b.txt');
  assert.deepEqual([back.stdout, back.changed], ['1\n2\n', []]);
});

test('a power cut that empties the record of a context costs no files', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('one', 'echo 1 > a.txt');
  const dir = join(contexts.place.workspaceRoot, 'contexts/one');
  writeFileSync(join(dir, 'ready'), '');
  writeFileSync(join(dir, 'tree/a.txt'), 'later work');
  const back = await contexts.task('one', 'cat a.txt');
  assert.equal(back.stdout, 'later work');
});

test('a file that is too large for a result is left out and named, and the rest is taken', async (t) => {
  const contexts = await openTestContexts(t);
  const made = await contexts.task(
    'one',
    'truncate -s 101M "big [1].bin"; mkdir d; truncate -s 101M d/x; echo 1 > a.txt',
  );
  assert.deepEqual(made.changed, ['a.txt']);
  assert.match(made.left ?? '', /^commit (big \[1\]\.bin|d\/x), (d\/x|big \[1\]\.bin): larger than 100 MiB$/);
  const next = await contexts.task('one', 'ls; echo 2 > b.txt');
  assert.equal(next.stdout, 'a.txt\nbig [1].bin\nd\n');
  assert.deepEqual([next.changed, next.left], [['b.txt'], undefined]);
});

test('a file of just the largest size is part of a result', async (t) => {
  const contexts = await openTestContexts(t);
  const made = await contexts.task('one', 'truncate -s 100M big.bin; echo 1 > a.txt');
  assert.deepEqual([made.changed, made.left], [['a.txt', 'big.bin'], undefined]);
});

test('branches and stashes stay in the repository that a new one replaces, until the next', async (t) => {
  const contexts = await openTestContexts(t);
  const commit = 'git add -A; git commit -qm';
  await contexts.task(
    'one',
    `echo 1 > a; ${commit} a; git checkout -qb side; echo s > s; ${commit} s; git checkout -q fleet/one;
     echo 2 > a; git stash -q; truncate -s 101M big`,
  );
  const old = 'git --git-dir=.git/replaced';
  const look = `ls -A; cat a; ${old} show side:s stash:a; git fetch -q .git/replaced side; git show FETCH_HEAD:s`;
  const next = await contexts.task('one', look);
  assert.equal(next.stdout, '.git\na\nbig\n1\ns\n2\ns\n', next.stderr);
  // A set-up that was interrupted left it in the tree.
  await contexts.task('one', 'mv .git/replaced .git-replaced; rm .git/HEAD');
  const again = await contexts.task('one', look);
  assert.deepEqual([again.stdout, again.changed], [next.stdout, []], again.stderr);
  await contexts.task('one', 'rm .git/HEAD');
  const last = await contexts.task(
    'one',
    'ls -d .git/replaced/replaced .git-replaced; git status --porcelain',
  );
  assert.equal(last.stdout, '');
});

test('temporary files go at the end of a task, however many, and also closed folders', async (t) => {
  const contexts = await openTestContexts(t);
  const name = 'x'.repeat(100);
  await contexts.task(
    'one',
    `cd "$TMPDIR"; seq -f %.0f${name} 30000 | xargs touch; mkdir .d; touch .d/x; chmod 0 .d; ln -s /etc link`,
  );
  assert.equal((await contexts.task('one', 'ls -A "$TMPDIR"')).stdout, '');
});

test('the diff for a review shows uncommitted work and commits nothing', async (t) => {
  const contexts = await openTestContexts(t);
  await using workspace = await contexts.open('one');
  const begun = await workspace.begin(true);
  assert.ok('base' in begun);
  assert.equal(await workspace.diffSince(begun.base, 1000), '');
  await contexts.sh(workspace, 'echo new > a.txt');
  assert.match(await workspace.diffSince(begun.base, 1000), /^diff --git a\/a.txt b\/a.txt\n.*\n\+new\n$/s);
  await contexts.sh(workspace, 'rm -rf .git');
  assert.match(await workspace.diffSince(begun.base, 1000), /\+new\n$/);
  assert.equal((await contexts.sh(workspace, 'git log --format=%s')).stdout, 'Start the workspace\n');
  assert.deepEqual(readdirSync(join(contexts.place.workspaceRoot, 'results.git/packs')), []);
});

test('a diff of any length is cut, and all of very many changed paths are named', async (t) => {
  const contexts = await openTestContexts(t);
  await using workspace = await contexts.open('one');
  const begun = await workspace.begin(true);
  assert.ok('base' in begun);
  await contexts.sh(workspace, 'yes | head -c 1000000 >1; for n in $(seq 2 50); do cp 1 $n; done');
  assert.match(await workspace.diffSince(begun.base, 1000), /^diff --git a\/1 .*\n\[the diff goes on/s);
  const dir = 'd'.repeat(240);
  await contexts.sh(workspace, `rm *; mkdir -p ${dir}/${dir}; cd ${dir}/${dir}; seq 18000 | xargs touch`);
  await workspace.commit('Task');
  assert.equal((await workspace.changedSince(begun.base)).length, 18_000);
});

test('the packs of many results become one', async (t) => {
  const contexts = await openTestContexts(t);
  for (let at = 0; at < 33; at += 1) await contexts.task(`c${at % 3}`, `echo ${at} > ${at}.txt`);
  const signal = AbortSignal.timeout(60_000);
  const nothing = { hasTasks: () => true, contextIds: () => [], unusedBefore: 0, resultsBefore: undefined };
  await contexts.workspaces.contexts?.prune({ ...nothing, signal });
  const packs = readdirSync(join(contexts.place.workspaceRoot, 'results.git/objects/pack'));
  assert.equal(packs.filter((name) => name.endsWith('.pack')).length, 1, packs.join());
  assert.equal(git(contexts, 'results.git', 'fsck', '--full', '--strict'), '');
  assert.match(readFileSync(join(contexts.place.workspaceRoot, 'contexts/c0/tree/0.txt'), 'utf8'), /0/);
});
