import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { GIT_ENV, git, newRepository } from '../../testing/results-stub.ts';
import { createGit } from '../git/git.ts';
import { configuredRemote, isSameRepository } from './configured-remote.ts';

const WEB = 'https://forge.example/acme/web.git';

for (const address of [
  'https://forge.example/acme/web',
  'https://Forge.Example/acme/web.git/',
  'https://ann:secret@forge.example/acme/web',
  'http://forge.example:80/acme/web',
  'ssh://git@forge.example:2222/acme/web.git',
  'git+ssh://forge.example/acme/web',
  'git://forge.example/acme/web',
  'git@forge.example:acme/web.git',
  'forge.example:/acme/web',
])
  test(`${address} is ${WEB}`, () => assert.ok(isSameRepository(WEB, address)));

for (const address of [
  'https://forge.example/acme/web2',
  'https://forge.example/acme',
  'https://forge.example.org/acme/web',
  'https://forge.example:8443/acme/web',
  'git@forge.example:Acme/web',
  'git@forge.example:web',
  '/srv/forge.example/acme/web',
  './forge.example:acme/web',
  'file:///forge.example/acme/web',
  'forge.example',
  '',
])
  test(`"${address}" is not ${WEB}`, () => assert.ok(!isSameRepository(WEB, address)));

test('an address of IPv6 is compared, too', () => {
  assert.ok(isSameRepository('https://[::1]:8080/a/b', 'git@[::1]:a/b.git'));
  assert.ok(!isSameRepository('https://[::1]:8080/a/b', 'https://[::2]:8080/a/b'));
});

test('of several remotes that are configured, that of the branch is taken, else origin, else the first', async (t) => {
  const root = tempDir(t, { prefix: 'fleet-remote-' });
  const mine = newRepository(join(root, 'mine'));
  const own = createGit({ ...process.env, ...GIT_ENV }, mine, new AbortController().signal);
  const repositories = [
    { name: 'web', url: WEB, base: 'main' },
    { name: 'fork', url: 'https://forge.example/ann/web', base: 'main' },
    { name: 'third', url: 'https://forge.example/bob/web', base: 'main' },
  ];
  const chosen = async () => (await configuredRemote(own, repositories))?.repository.name;
  assert.equal(await chosen(), undefined);
  git(mine, 'remote', 'add', 'elsewhere', root);
  assert.equal(await chosen(), undefined);
  git(mine, 'remote', 'add', 'a', 'git@forge.example:bob/web');
  assert.equal(await chosen(), 'third');
  git(mine, 'config', 'url.git@forge.example:.insteadOf', 'forge:');
  git(mine, 'remote', 'add', 'origin', 'forge:ann/web');
  assert.equal(await chosen(), 'fork');
  git(mine, 'remote', 'add', 'upstream', WEB);
  git(mine, 'config', 'branch.main.remote', 'upstream');
  assert.equal(await chosen(), 'web');
  git(mine, 'switch', '--quiet', '--detach');
  assert.equal(await chosen(), 'fork');
});
