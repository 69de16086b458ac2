import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { openTestContexts } from '../../testing/index.ts';
import { gitIdentity } from '../git/git.ts';

const FILES = 1_500;

/** A project with many files, in a pack. Its index is a large one. */
function largeProject(t: Parameters<typeof tempDir>[0]): string {
  const path = tempDir(t);
  execFileSync('chmod', ['755', path]);
  for (let file = 0; file < FILES; file += 1) {
    const folder = join(path, `folder-${file % 30}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file-${file}.txt`), `${file}\n`.padStart(8));
  }
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-C', path, '-c', 'user.name=u', '-c', 'user.email=u@localhost', ...args]);
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'Files');
  return path;
}

/** A project that a script makes. */
function smallProject(t: Parameters<typeof tempDir>[0], script: string): string {
  const path = tempDir(t);
  const options = { cwd: path, env: { ...process.env, ...gitIdentity('user') } };
  execFileSync(
    'sh',
    ['-ec', `chmod 755 .; git init -q; git commit -q --allow-empty -m First\n${script}`],
    options,
  );
  return path;
}

/** Waits until the second in which the tree was made is over: git compares times by the second. */
const NEXT_SECOND = 'while [ "$(date +%s)" -le "$(stat -c %Y .git/index)" ]; do :; done';

const COUNT = "git count-objects | cut -d ' ' -f 1";

test('a commit stores only what changed, in a new tree of many files too', async (t) => {
  const contexts = await openTestContexts(t, { path: largeProject(t) });
  const change = 'cd folder-1; ls | head -3 | while read f; do printf "changed\n" > "$f"; done';
  for (const [name, script] of [
    ['at-once', change],
    ['later', `${NEXT_SECOND}; ${change}`],
  ] as const) {
    const { changed, stderr } = await contexts.task(name, script);
    assert.equal(changed.length, 3, `${name}: ${stderr}`);
    const objects = Number((await contexts.task(name, COUNT)).stdout);
    // A blob, two trees, a commit and that of the gateway.
    assert.ok(objects <= 5, `${name}: ${objects} objects`);
  }
});

test('a change of the same size in the same second as the tree was made is committed, whenever the task ends', async (t) => {
  const contexts = await openTestContexts(t, { path: largeProject(t) });
  const change = 'f=folder-1/file-1.txt; sed "s/1/7/" $f > "$TMPDIR/new"; cat "$TMPDIR/new" > $f';
  for (const script of [change, `${change}; ${NEXT_SECOND}`]) {
    const { changed, exitCode, stderr } = await contexts.task(script === change ? 'soon' : 'later', script);
    assert.deepEqual([exitCode, changed], [0, ['folder-1/file-1.txt']], stderr);
  }
});

test('changes of all files at once, and of files with odd names, are committed', async (t) => {
  const contexts = await openTestContexts(t, { path: largeProject(t) });
  const all = await contexts.task('all', 'for f in folder-*/*; do echo more >> "$f"; done');
  assert.equal(all.changed.length, FILES, all.stderr);
  const odd = await contexts.task(
    'odd',
    `rm -r folder-1; echo 1 > folder-1; mkdir 'a b' && echo 1 > 'a b/*.txt'; echo 1 > ':(top)x'; echo 1 > '# branch.oid y'
     rm folder-2/file-2.txt; mkdir folder-2/file-2.txt; echo 1 > folder-2/file-2.txt/in; chmod +x folder-3/file-3.txt
     ln -s nowhere link; printf '1' > "$(printf 'new\\nline')"`,
  );
  const expected = [
    ...['# branch.oid y', ':(top)x', 'a b/*.txt', 'folder-1', 'folder-2/file-2.txt'],
    ...['folder-2/file-2.txt/in', 'folder-3/file-3.txt', 'link', 'new\nline'],
  ];
  const others = odd.changed.filter((path) => !path.startsWith('folder-1/'));
  assert.deepEqual([others, odd.left], [expected, undefined], odd.stderr);
  assert.equal((await contexts.task('odd', 'git status --porcelain')).stdout, '');
});

test('what changed is found again when no task has run since, and after a branch was removed by hand', async (t) => {
  const contexts = await openTestContexts(t);
  assert.deepEqual((await contexts.task('one', 'echo 1 > a.txt')).changed, ['a.txt']);
  assert.deepEqual((await contexts.task('one', 'echo 2 > b.txt')).changed, ['b.txt']);
  const results = join(contexts.place.workspaceRoot, 'results.git');
  execFileSync('git', ['-C', results, 'branch', '-q', '-D', 'fleet/one']);
  assert.deepEqual((await contexts.task('one', 'echo 3 > c.txt')).changed, ['c.txt']);
  {
    await using workspace = await contexts.open('one');
    await workspace.begin(true);
    assert.equal(workspace.beganClean(), true);
    await contexts.sh(workspace, 'echo 4 > d.txt');
    // The run ends without a commit, as after a crash.
  }
  {
    await using workspace = await contexts.open('one');
    await workspace.begin(true);
    await workspace.commit('Task');
    await contexts.sh(workspace, 'echo 5 > e.txt');
  }
  const { changed, stdout } = await contexts.task('one', 'git log -2 --format=%s; echo 6 > f.txt');
  assert.deepEqual([stdout, changed], ['What an earlier task left behind\n'.repeat(2), ['f.txt']]);
});

test('the diff for a review has what an interrupted task did before', async (t) => {
  const contexts = await openTestContexts(t);
  await using workspace = await contexts.open('one');
  const begun = await workspace.begin(true);
  assert.ok('base' in begun);
  await contexts.sh(workspace, 'echo before > a.txt');
  await workspace.leave('Work of an interrupted task');
  assert.match(await workspace.diffSince(begun.base, 10_000), /\+before/);
});

test('a folder that became a link, and one that became a large file, cost a task nothing else', async (t) => {
  const contexts = await openTestContexts(t, { path: largeProject(t) });
  const linked = await contexts.task(
    'one',
    'rm -r folder-1; mkdir other; for f in folder-1 folder-2; do echo o > other/file-1.txt; done; ln -s other folder-1; echo 1 > n.txt',
  );
  assert.equal(linked.left, undefined);
  for (const path of ['folder-1', 'folder-1/file-1.txt', 'n.txt', 'other/file-1.txt'])
    assert.ok(linked.changed.includes(path), `${path}: ${linked.changed}`);
  const replace = 'rm -rf folder-1; truncate -s 101M folder-1';
  const large = await contexts.task('two', `${replace}; echo 1 > n1.txt`);
  assert.ok(large.changed.includes('n1.txt'), large.stderr);
  assert.equal(large.left, 'commit folder-1: larger than 100 MiB');
  assert.deepEqual((await contexts.task('two', `${replace}; echo 1 > n2.txt`)).changed, ['n2.txt']);
});

test('large files with odd names are left out', async (t) => {
  const contexts = await openTestContexts(t);
  const make = `for f in 'a ' 'b  ' "$(printf 'c\\r')" "$(printf 'd\\ne')" '#f' '!g' 'h\\'; do truncate -s 101M "$f"; done; echo 1 > n.txt`;
  const { changed, left } = await contexts.task('one', make);
  assert.deepEqual(changed, ['n.txt']);
  assert.match(left ?? '', /larger than 100 MiB/);
  assert.deepEqual((await contexts.task('one', 'rm "a "; echo 1 > "a "')).changed, ['a ']);
});

test('a merge with conflicts that a task left is one commit of the result, and its branches stay in the tree', async (t) => {
  const contexts = await openTestContexts(t);
  const sides = `echo 1 > f; git add f; git commit -qm x; b=$(git symbolic-ref --short HEAD)
    git checkout -qb o; git mv f f1; git commit -qam a; git checkout -q $b; git mv f f2; git commit -qam b; git merge o >&2; true`;
  const merged = await contexts.task('one', sides);
  assert.equal(merged.left, undefined, merged.stderr);
  const next = await contexts.task(
    'one',
    'git log --format=%s; git log --format=%s o; git branch --format="%(refname:short)"',
  );
  assert.equal(next.stdout, 'Task\nStart the workspace\na\nx\nStart the workspace\nfleet/one\no\n');
});

test('what a task closed to itself in its repository does not stop the next ones', async (t) => {
  const contexts = await openTestContexts(t);
  for (const name of ['a', 'b', 'c']) {
    const { changed, left } = await contexts.task('one', `echo 1 > ${name}; chmod 000 .git/objects`);
    assert.deepEqual([changed, left], [[name], undefined]);
  }
});

test('a repository in the tree is named while its files are in no result, and then they are', async (t) => {
  const contexts = await openTestContexts(t);
  const named = /^keep the files of sub: a git repository of its own/;
  const made = await contexts.task('one', 'git init -q sub; cd sub; echo 1 > a; git add a; git commit -qm x');
  assert.match(made.left ?? '', named);
  const dirty = await contexts.task('one', 'echo 2 > sub/b');
  assert.deepEqual(dirty.changed, []);
  assert.match(dirty.left ?? '', named);
  const kept = await contexts.task('one', 'rm -rf sub/.git; echo more > sub/c');
  assert.deepEqual([kept.changed, kept.left], [['sub', 'sub/a', 'sub/b', 'sub/c'], undefined]);
});

test('files in the empty folder of a submodule take its place, and a submodule at another commit is named', async (t) => {
  const contexts = await openTestContexts(t, { path: smallProject(t, SUBMODULE) });
  const filled = await contexts.task('one', 'ls vendor/lib; echo 1 > vendor/lib/a');
  assert.deepEqual([filled.stdout, filled.changed], ['', ['vendor/lib', 'vendor/lib/a']], filled.stderr);
  const moved = await contexts.task(
    'two',
    'cd vendor/lib && git init -q && git commit -q --allow-empty -m x',
  );
  assert.deepEqual(moved.changed, ['vendor/lib']);
  assert.match(moved.left ?? '', /^keep the files of vendor\/lib: a git repository of its own/);
});

/** As a clone without its submodules has it. */
const SUBMODULE = `printf '[submodule "lib"]\\n\\tpath = vendor/lib\\n\\turl = ../lib.git\\n' >.gitmodules
git add .gitmodules; git update-index --add --cacheinfo "160000,$(git rev-parse HEAD),vendor/lib"; git commit -qm Submodule`;

test('a result names the files that Git LFS would store: their content, and pointers whose content nothing has', async (t) => {
  const contexts = await openTestContexts(t, { path: smallProject(t, LFS) });
  const apart = await contexts.task(
    'one',
    'mkdir a; echo 1 > a/b.bin; git mv old.psd a/moved.psd; git rm -q gone.psd',
  );
  assert.deepEqual([apart.changed.length, apart.left], [4, undefined], apart.stderr);
  const { left } = await contexts.task(
    'one',
    `echo 1 > "a
b.psd"; echo 1 > bin/b.bin; mkdir bin/x; echo 1 > bin/x/y.bin; sed "s/size 1/size 2/" a/moved.psd > new.psd`,
  );
  assert.deepEqual(left?.split('\n'), [
    `convert "a\\nb.psd", bin/b.bin, bin/x/y.bin for Git LFS before you push: the result has the content, where .gitattributes wants a pointer; 'git add --renormalize .' does that in a clone with git lfs`,
    'keep the content of new.psd: the result has a new pointer of Git LFS only',
  ]);
  const removed = await contexts.task('one', 'rm *.psd bin/.gitattributes');
  assert.equal(removed.left, undefined);
});

const LFS = `echo '*.psd filter=lfs -text' >.gitattributes
mkdir bin; echo '*.bin filter=lfs -text' >bin/.gitattributes
printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:1\\nsize 1\\n' | tee old.psd >gone.psd
git add .; git commit -qm LFS`;

test('what a file tool wrote in a run without a commit is not taken for saved', async (t) => {
  const contexts = await openTestContexts(t);
  await contexts.task('one', 'echo 1 > a.txt');
  {
    await using workspace = await contexts.open('one');
    await workspace.begin(true);
    await using file = await workspace.files.openFile('left.txt', 'create');
    await file.writeFile('x');
  }
  assert.deepEqual((await contexts.task('one', 'true')).changed, []);
  const { stdout } = await contexts.task('one', 'git log --format=%s -1 -- left.txt');
  assert.equal(stdout, 'What an earlier task left behind\n');
});
