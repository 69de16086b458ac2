import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { checkoutScene } from '../../testing/checkout-stub.ts';
import { commit, git, stateOf } from '../../testing/results-stub.ts';

type Scene = Awaited<ReturnType<typeof checkoutScene>>;

/** A send that fails with this message, and sends nothing. */
async function refused(scene: Scene, dir: string, message: RegExp, ...more: string[]): Promise<void> {
  const ended = await scene.send(dir, '--repo', '.', ...more);
  assert.notEqual(ended.code, 0);
  assert.match(ended.stderr, message);
  assert.equal(ended.stdout, '');
  assert.deepEqual([scene.dispatched, scene.left()], [[], []]);
}

test('what cannot be sent is refused by name, before a brief is read', async (t) => {
  const scene = await checkoutScene(t);
  const { root, mine } = scene;
  const empty = join(root, 'empty');
  mkdirSync(empty);
  await refused(
    scene,
    empty,
    /empty is in no repository that git takes \(.*\): --repo takes the folder of a checkout\n/,
  );
  git(empty, 'init', '--quiet');
  await refused(
    scene,
    empty,
    /^fleet: the repository of .*empty has no commit that can be sent: make one with git commit\n$/,
  );
  const sha256 = join(root, 'sha256');
  git(root, 'init', '--quiet', '--object-format=sha256', sha256);
  await refused(scene, sha256, /has commits of SHA-256, and the fleet those of SHA-1: it cannot be sent; /);
  commit(mine, { 'b.txt': 'b\n' });
  git(mine, 'config', 'uploadpack.allowFilter', 'true');
  for (const [option, words] of [
    ['--depth=1', /is shallow, so its history is not all here: git fetch --unshallow gets it\n/],
    ['--filter=blob:none', /is a partial clone, .*: clone it again without --filter\n/],
  ] as const) {
    const clone = join(root, option);
    git(root, 'clone', '--quiet', option, `file://${mine}`, clone);
    await refused(scene, clone, words);
  }
  await refused(scene, join(mine, '.git'), /is named by its \.git folder: name its working tree\n/);
  await refused(
    scene,
    mine,
    /^fleet: --base goes with --repo and the name of a repository;/,
    '--base',
    'main',
  );
  for (const [args, words] of [
    [
      ['--repo', './none'],
      /^fleet: --repo \.\/none is no folder: nothing was sent\nhint: fleet send --help\n$/,
    ],
    [['--repo', './a.txt'], /^fleet: --repo \.\/a\.txt is no folder: nothing was sent\n/],
    [['--include-changes'], /^fleet: --include-changes goes with --repo and the path of a checkout\n/],
    [['--whole', '--repo', 'web'], /^fleet: --whole goes with --repo and the path of a checkout\n/],
    [['--include-changes', '--repo', 'web'], /^fleet: --include-changes goes with --repo and the path/],
  ] as const) {
    const ended = await scene.send(mine, ...args);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, words);
  }
  assert.deepEqual(scene.uploads, []);
});

test('what a profile does not take is told with the remedy', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, told } = scene;
  told.maxBytes = 100;
  await refused(
    scene,
    mine,
    /^fleet: the commits of mine have more than 0\.0 MiB, which is the most that switch takes: configure its remote in repositories\.yaml, /,
  );
  told.maxBytes = 1_000_000;
  told.upload = (_, reply) =>
    void reply.writeHead(422).end('{"error":{"code":"BUNDLE_REFUSED","message":"an object\\nis bad"}}');
  await refused(scene, mine, /^fleet: switch: an object is bad\n$/);
  told.upload = (request) => void request.socket.destroy();
  await refused(
    scene,
    mine,
    /^fleet: the commits of mine did not arrive, and no task was sent: switch does not answer at http/,
  );
  told.list = (reply) => void reply.end('{"repositories":[]}');
  await refused(scene, mine, /^fleet: switch takes no checkouts: --profile names another one\n$/);
  told.list = (reply) => void reply.writeHead(404).end('{"error":{"code":"NOT_FOUND","message":"no"}}');
  await refused(
    scene,
    mine,
    /^fleet: switch is of a release that takes no checkouts: upgrade it, or leave out --repo\n$/,
  );
  const ended = await scene.send(mine, '--repo', '.', '--json');
  assert.equal(JSON.parse(ended.stdout).error.code, 'PEER_REFUSED');
});

test('of a task that nobody can do nothing is sent, and what would help is told', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, root, told } = scene;
  const nobody = (...names: string[]): string =>
    [
      'nobody can do this task, so nothing was sent',
      ...names.map((name) => `  capability: nobody has "${name}"`),
      '',
    ].join('\n');
  const blocked = async (cwd: string, ...more: string[]): Promise<string> => {
    const { code, stdout } = await scene.send(cwd, ...more);
    assert.deepEqual([code, scene.uploads, scene.dispatched, scene.left()], [3, [], [], []]);
    return stdout;
  };
  told.lacking.add('repository:web').add('repository:mine');
  told.repositories = [{ name: 'web', url: 'https://forge.example/acme/web', base: 'main' }];
  git(mine, 'remote', 'add', 'origin', 'git@forge.example:acme/web');
  assert.equal(
    await blocked(mine, '--repo', '.'),
    `${nobody('repository:web')}hint: --whole sends all of it to a worker without the repository "web"\n`,
  );
  assert.equal(
    await blocked(root, '--repo', 'mine'),
    `${nobody('repository:mine')}hint: --repo ./mine sends the checkout in that folder\n`,
  );
  assert.equal(JSON.parse(await blocked(mine, '--repo', '.', '--json')).chosen, null);
  told.lacking.add('repository:bundle');
  assert.equal(await blocked(mine, '--repo', '.'), nobody('repository:web', 'repository:bundle'));
  assert.equal(
    (await scene.send(mine, '--repo', '.', '--task-id', 'again')).code,
    0,
    'it may be there already',
  );
});

test('Ctrl-C in the middle of an upload sends no task, and leaves no file', async (t) => {
  const scene = await checkoutScene(t);
  const { mine, tmp, told, env, reach } = scene;
  writeFileSync(join(mine, 'a.txt'), 'changed\n');
  const before = stateOf(mine);
  const begun = Promise.withResolvers<void>();
  told.upload = () => begun.resolve();
  const main = join(import.meta.dirname, '../main.ts');
  const args = [main, 'send', 'x', '--repo', mine, '--include-changes', ...reach];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env, TMPDIR: tmp },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const said = text(child.stderr);
  await begun.promise;
  child.kill('SIGINT');
  const [, signal] = await once(child, 'close');
  assert.equal(signal, 'SIGINT');
  assert.equal(await said, 'fleet: stopped: no task was sent\n');
  assert.deepEqual([scene.left(), scene.dispatched, stateOf(mine)], [[], [], before]);
});
