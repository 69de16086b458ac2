import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkoutScene } from '../../testing/checkout-stub.ts';
import type { Ended } from '../../testing/profile-stub.ts';
import { commit, git, newRepository, stateOf } from '../../testing/results-stub.ts';

type Scene = Awaited<ReturnType<typeof checkoutScene>>;

const SENT = 'task t-1 in context c-1\nto see it: fleet watch t-1\n';
const CHANGED = 'Changes that were not committed when the task was sent';

/** The repository of the task that a send made, which left no file; `said` is what it told the user. */
function sentBy({ dispatched, left }: Scene, ended: Ended, said = '') {
  assert.deepEqual([ended.code, ended.stdout, ended.stderr], [0, SENT, said]);
  assert.deepEqual(left(), []);
  return dispatched.at(-1)?.repository ?? {};
}

test('a checkout is sent with its whole history once, and later only what is new', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, uploads, dispatched } = scene;
  const first = git(mine, 'rev-parse', 'HEAD');
  mkdirSync(join(mine, 'deep'));
  const before = stateOf(mine);
  const { bundle, base, name } = sentBy(scene, await scene.send(join(mine, 'deep'), '--repo', '..'));
  assert.deepEqual([bundle, base, name], [uploads[0]?.bundle, first, undefined]);
  assert.deepEqual(dispatched[0]?.required, ['repository:bundle']);
  assert.deepEqual([uploads[0]?.prerequisites, uploads[0]?.repository], [[], undefined]);
  assert.equal(git(scene.restore(first), 'log', '--format=%T', 'restored'), git(mine, 'log', '--format=%T'));
  assert.deepEqual(stateOf(mine), before);

  assert.deepEqual(sentBy(scene, await scene.send(mine, '--repo', '.', '--context', 'c-1')), {
    bundle,
    base,
  });
  assert.equal(uploads.length, 1, 'what was sent is not sent again');

  const second = commit(mine, { 'b.txt': 'b\n' });
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', mine)).base, second);
  assert.deepEqual(uploads[0]?.prerequisites, [first]);

  git(mine, 'commit', '--quiet', '--amend', '--message', 'Other words');
  const amended = git(mine, 'rev-parse', 'HEAD');
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', '.')).base, amended);
  assert.deepEqual(uploads[0]?.prerequisites.length, 1, 'a commit beside it will do');

  git(mine, 'commit', '--quiet', '--allow-empty', '--message', 'Three');
  const [third, fourth] = [git(mine, 'rev-parse', 'HEAD'), commit(mine, { 'd.txt': 'd\n' })];
  sentBy(scene, await scene.send(mine, '--repo', '.'));
  git(mine, 'switch', '--quiet', '--detach', third);
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', '.')).base, third);
  assert.deepEqual(uploads[0]?.prerequisites, [fourth], 'an end of a bundle has it');
  for (const each of [second, amended, third, fourth])
    assert.equal(
      git(scene.restore(each), 'rev-list', '--objects', 'restored'),
      git(mine, 'rev-list', '--objects', each),
    );
});

test('what is not committed is counted, and --include-changes sends it and leaves the checkout as it is', async (t) => {
  const scene = await checkoutScene(t);
  const { root, mine, uploads } = scene;
  const head = git(mine, 'rev-parse', 'HEAD');
  writeFileSync(join(mine, '.git/info/exclude'), 'ignored\n');
  writeFileSync(join(mine, 'ignored'), 'ignored\n');
  writeFileSync(join(mine, 'a.txt'), 'changed\n');
  const one = '1 file not committed is not sent; --include-changes sends it\n';
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', '.'), one).base, head);
  const odd = ['new\nline', 'quo"te\'s', 'CASE', 'case', '-dash', ' space '];
  for (const name of odd) writeFileSync(join(mine, name), `${name}\n`);
  writeFileSync(Buffer.concat([Buffer.from(join(mine, 'not-')), Buffer.from([0xff, 0xfe])]), 'bytes\n');
  symlinkSync('/etc/passwd', join(mine, 'link'));
  rmSync(join(mine, 'case'));
  symlinkSync('CASE', join(mine, 'case'));
  git(mine, 'add', 'CASE');
  mkdirSync(join(mine, 'folder'));
  writeFileSync(join(mine, 'folder/inside'), '');
  writeFileSync(join(mine, '.git/hooks/post-index-change'), `#!/bin/sh\ntouch '${root}/ran'\n`, {
    mode: 0o755,
  });
  const many = '10 files not committed are not sent; --include-changes sends them\n';
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', '.'), many).base, head);
  assert.equal(uploads.length, 1);

  const [refs, ...before] = stateOf(mine);
  rmSync(join(root, 'ran'));
  const { base = '' } = sentBy(scene, await scene.send(mine, '--repo', '.', '--include-changes'));
  assert.deepEqual(uploads[0]?.prerequisites, [head]);
  assert.equal(existsSync(join(root, 'ran')), false, 'no hook runs');
  const [kept, ...after] = stateOf(mine);
  assert.deepEqual(after, before);
  assert.equal(kept, `refs/fleet/sent/${base} ${base}\n${refs}`);
  const at = scene.restore(base);
  assert.equal(
    git(at, 'log', '-1', '--format=%an <%ae> %s%n%P', base),
    `Ann <ann@example.org> ${CHANGED}\n${head}`,
  );
  git(mine, 'add', '--all');
  assert.equal(git(mine, 'write-tree'), git(at, 'rev-parse', `${base}^{tree}`));
  git(mine, 'reset', '--quiet');

  sentBy(scene, await scene.send(mine, '--repo', '.', '--include-changes'));
  assert.equal(uploads.length, 2, 'the same changes are the same commit');
  writeFileSync(join(mine, 'a.txt'), 'changed again\n');
  const next = sentBy(scene, await scene.send(mine, '--repo', '.', '--include-changes'));
  assert.equal(uploads[0]?.prerequisites.length, 1);
  assert.equal(git(scene.restore(next.base ?? ''), 'show', 'restored:a.txt'), 'changed again');
});

test('changes of a user without a name are sent, and nothing changed is the last commit', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, env } = scene;
  const all = ['--repo', '.', '--include-changes'];
  const head = git(mine, 'rev-parse', 'HEAD');
  assert.equal(sentBy(scene, await scene.send(mine, ...all)).base, head);
  for (const role of ['AUTHOR', 'COMMITTER'])
    for (const key of ['NAME', 'EMAIL']) env[`GIT_${role}_${key}`] = undefined;
  git(mine, 'config', 'user.useConfigOnly', 'true');
  writeFileSync(join(mine, 'a.txt'), 'changed\n');
  const { base = '' } = sentBy(scene, await scene.send(mine, ...all));
  assert.equal(
    git(mine, 'log', '-1', '--format=%an <%ae> %cn', base),
    'fleet send <send@hermes-fleet.invalid> fleet send',
  );
});

test('where a remote is a configured repository, the task names it, and only what it lacks is sent', async (t) => {
  const scene = await checkoutScene(t);
  const { root, mine, told, uploads, dispatched } = scene;
  told.repositories = [
    { name: 'other', url: 'https://forge.example/acme/other', base: 'main' },
    { name: 'web', url: 'https://Forge.example/acme/web.git', base: 'main' },
  ];
  const pushed = git(mine, 'rev-parse', 'HEAD');
  const forge = join(root, 'forge');
  git(root, 'clone', '--quiet', '--bare', mine, forge);
  git(mine, 'remote', 'add', 'upstream', 'git@forge.example:acme/web');
  git(mine, 'update-ref', 'refs/remotes/upstream/main', pushed);
  const feature = commit(mine, { 'b.txt': 'b\n' });
  git(mine, 'update-ref', 'refs/remotes/upstream/feature', feature);
  const head = commit(mine, { 'c.txt': 'c\n' });

  const task = sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual(task, { name: 'web', bundle: uploads[0]?.bundle, base: head });
  assert.deepEqual(dispatched[0]?.required, ['repository:bundle', 'repository:web']);
  assert.deepEqual(
    [uploads[0]?.repository, uploads[0]?.prerequisites],
    ['web', [pushed]],
    'of its base branch',
  );
  assert.equal(git(scene.restore(head, forge), 'show', 'restored:c.txt'), 'c');

  const next = commit(mine, { 'd.txt': 'd\n' });
  sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual([uploads[0]?.repository, uploads[0]?.prerequisites], ['web', [head]]);
  assert.equal(git(scene.restore(next, forge), 'show', 'restored:d.txt'), 'd');

  git(mine, 'switch', '--quiet', '--detach', pushed);
  sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual([uploads[0]?.commit, uploads[0]?.prerequisites], [pushed, []], 'its only commit');
  told.repositories.pop();
  const alone = sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual(alone, { bundle: uploads[0]?.bundle, base: pushed });
});

test('a context goes on with what it began with, whatever the remotes of the checkout are now', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, told, uploads } = scene;
  told.repositories = [{ name: 'web', url: 'https://forge.example/acme/web', base: 'main' }];
  told.contexts = { alone: { name: null }, web: { name: 'web' } };
  const pushed = git(mine, 'rev-parse', 'HEAD');
  const head = commit(mine, { 'b.txt': 'b\n' });
  const to = async (...more: string[]) => sentBy(scene, await scene.send(mine, '--repo', '.', ...more));
  assert.deepEqual(await to('--context', 'web'), { name: 'web', bundle: uploads[0]?.bundle, base: head });
  assert.deepEqual([uploads[0]?.repository, uploads[0]?.prerequisites], [undefined, []]);
  git(mine, 'remote', 'add', 'origin', 'git@forge.example:acme/web');
  git(mine, 'update-ref', 'refs/remotes/origin/main', pushed);
  const next = commit(mine, { 'c.txt': 'c\n' });
  assert.deepEqual(await to('--context', 'alone'), { bundle: uploads[0]?.bundle, base: next });
  assert.deepEqual([uploads[0]?.repository, uploads[0]?.prerequisites], [undefined, [head]]);
  assert.equal((await to('--context', 'new')).name, 'web');
  assert.equal((await to('--whole')).name, undefined);
  const ended = await scene.send(mine, '--repo', '.', '--whole', '--context', 'web');
  assert.equal(
    ended.stderr,
    'fleet: the context works on the repository "web": leave out --whole, or --context\n',
  );
});

test('a bundle that builds on what the remote has no more is not used again', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, told, uploads } = scene;
  told.repositories = [{ name: 'web', url: 'https://forge.example/acme/web', base: 'main' }];
  const pushed = git(mine, 'rev-parse', 'HEAD');
  git(mine, 'remote', 'add', 'origin', 'git@forge.example:acme/web');
  const rewritten = commit(mine, { 'b.txt': 'b\n' });
  git(mine, 'update-ref', 'refs/remotes/origin/main', rewritten);
  const head = commit(mine, { 'c.txt': 'c\n' });
  const stale = sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual(uploads[0]?.prerequisites, [rewritten]);
  git(mine, 'update-ref', 'refs/remotes/origin/main', pushed);
  const task = sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual([task.base, uploads[0]?.prerequisites], [head, [pushed]]);
  assert.notEqual(task.bundle, stale.bundle);
  const next = commit(mine, { 'd.txt': 'd\n' });
  sentBy(scene, await scene.send(mine, '--repo', '.'));
  assert.deepEqual([uploads[0]?.prerequisites, uploads[0]?.from_repository], [[head], [pushed]]);
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', '.')).base, next);
  assert.equal(uploads.length, 3, 'it is used again while the remote has that commit');
});

test('linked working trees, bare repositories and the environment of a hook are no obstacle', async (t) => {
  const scene = await checkoutScene(t);
  const { root, mine, env } = scene;
  const linked = join(root, 'linked');
  git(mine, 'worktree', 'add', '--quiet', '-b', 'side', linked);
  const side = commit(linked, { 's.txt': 's\n' });
  env.GIT_DIR = join(mine, '.git');
  env.GIT_INDEX_FILE = join(mine, '.git/index');
  assert.equal(sentBy(scene, await scene.send(root, '--repo', './linked')).base, side);
  const bare = join(root, 'bare.git');
  git(root, 'clone', '--quiet', '--bare', mine, bare);
  for (const more of [[], ['--include-changes']])
    assert.equal(
      sentBy(scene, await scene.send(bare, '--repo', '.', ...more)).base,
      git(mine, 'rev-parse', 'HEAD'),
    );
});

test('files of submodules and of Git LFS are named as not sent', async (t) => {
  const scene = await checkoutScene(t);
  const { root, mine } = scene;
  const part = newRepository(join(root, 'part'));
  git(mine, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', part, 'libs/a\tb');
  writeFileSync(join(mine, '.gitattributes'), '*.bin filter=lfs\n');
  commit(mine, { 'x.bin': 'pointer\n' });
  writeFileSync(join(mine, 'libs/a\tb/a.txt'), 'changed in the submodule\n');
  const said = [
    'of 1 file in Git LFS, only the pointer is sent',
    'the files of submodules are not sent: libs/a\ufffdb\n',
  ].join('\n');
  sentBy(scene, await scene.send(mine, '--repo', '.'), said);
});

test('where the profile has an earlier bundle no more, all is sent', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, told, uploads } = scene;
  sentBy(scene, await scene.send(mine, '--repo', '.'));
  told.gone.add(uploads[0]?.bundle ?? '');
  const head = commit(mine, { 'b.txt': 'b\n' });
  assert.equal(sentBy(scene, await scene.send(mine, '--repo', '.')).base, head);
  assert.deepEqual([uploads.length, uploads[0]?.prerequisites], [2, []]);
  assert.equal(git(scene.restore(head), 'show', 'restored:b.txt'), 'b');
});
