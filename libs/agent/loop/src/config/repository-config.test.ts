import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentConfigSchema, isContextPlaceholder } from './config-yaml.ts';
import { SharedRepositories } from './repository-config.ts';

const url = 'https://github.com/acme/web.git';

function problems(repositories: unknown, workspace: object = {}): string[] {
  const parsed = AgentConfigSchema.safeParse({ workspace: { ...workspace, repositories } });
  return parsed.success
    ? []
    : parsed.error.issues.map(({ path, message }) => `${path.slice(2).join('.')}: ${message}`);
}

test('a repository needs no more than its address', () => {
  const { repositories } = AgentConfigSchema.parse({
    workspace: { repositories: { web: { url } } },
  }).workspace;
  assert.deepEqual(repositories, {
    web: {
      url,
      base: 'main',
      bases: [],
      depth: 100,
      allow_stale_base: false,
      setup: [],
      setup_timeout_s: 1800,
      setup_secrets: [],
    },
  });
});

test('an address is https, or http on this machine, and has no password', () => {
  for (const right of [
    url,
    'https://bot@git.example:8443/group/sub/web',
    'https://bot%40acme.example@git.example/web',
    'http://127.0.0.1:3000/web.git',
    'http://localhost/web',
    'http://[::1]:3000/web',
  ])
    assert.deepEqual(problems({ web: { url: right } }), [], right);
  for (const [wrong, problem] of [
    ['http://git.example/web', /^web\.url: must begin with https: over http/],
    ['http://127.0.0.1.example/web', /over http/],
    ['git@github.com:acme/web.git', /must be an address such as/],
    ['ssh://git@github.com/acme/web.git', /must begin with https: the fleet fetches over https only/],
    ['file:///srv/web', /must begin with https/],
    ['/srv/web', /must be an address/],
    ['https://me:s3cret@github.com/acme/web.git', /must have no password or token/],
    ['https://ghp_s3cret@github.com/acme/web.git', /must have no password or token/],
    ['https://a%zz@git.example/web', /may have a user name of letters/],
    ['https://bot%0apassword=x@git.example/web', /may have a user name of letters/],
    ['https://github.com', /must name a repository at its host/],
    ['https://github.com/acme/web.git?ref=main', /nothing behind that/],
    ['https://github.com/acme/web\n.git', /must be an address/],
  ] as const) {
    const [found = '', ...others] = problems({ web: { url: wrong } });
    assert.match(found, problem, wrong);
    assert.doesNotMatch(found, /s3cret/);
    assert.deepEqual(others, []);
  }
});

test('a name is one of a dispatch and of a folder', () => {
  for (const name of ['web', 'Web.js', 'a', '0-x_y', 'x'.repeat(63)])
    assert.deepEqual(problems({ [name]: { url } }), [], name);
  for (const name of ['', '.git', '-x', 'a/b', 'x'.repeat(64), 'bundle', 'Bundle'])
    assert.equal(problems({ [name]: { url } }).length, 1, name);
  assert.deepEqual(problems({ web: { url }, Web: { url } }), [
    'Web: differs from web only in case; choose another name',
  ]);
});

test('what contradicts itself is refused with what to do', () => {
  for (const [repository, problem] of [
    [{ base: '-x' }, /^web\.base: must be the name of a branch/],
    [{ bases: ['release/*', '**', 'a..b'] }, /^web\.bases\.2: must be a branch, with \*/],
    [{ token_env: 'ghp_x-y' }, /^web\.token_env: must be the name of an environment variable, not the token/],
    [{ token_env: 'A', token_file: 'a' }, /^web\.token_file: is there beside token_env; keep one/],
    [{ token_file: 'a\0' }, /^web\.token_file: must not contain a null byte/],
    [{ depth: -1 }, /^web\.depth/],
    [{ setup_secrets: ['A'] }, /^web\.setup_secrets: is for the commands of setup/],
    [{ setup: 'true', setup_secrets: ['LD_PRELOAD'] }, /^web\.setup_secrets\.0: steers programs/],
    [{ setup: 'true', setup_secrets: ['HOME'] }, /^web\.setup_secrets\.0: is set by the gateway/],
  ] as const) {
    const found = problems({ web: { url, ...repository } });
    assert.match(found[0] ?? '', problem);
    assert.equal(found.length, 1);
  }
  const config = { workspace: { isolation: 'in_place', repositories: { web: { url } } } };
  const inPlace = AgentConfigSchema.safeParse(config).error?.issues ?? [];
  assert.deepEqual(
    inPlace.map(({ path, message }) => [path.join('.'), message]),
    [
      [
        'workspace.repositories',
        'in place, all tasks work in one tree: remove repositories, or use isolation: worktree',
      ],
    ],
  );
});

test('the commands of a set-up keep the placeholders of the shell, here and in the file for all', () => {
  const setup = 'npm ci';
  for (const path of [
    ['workspace', 'repositories', 'web', 'setup'],
    ['workspace', 'repositories', 'web', 'setup', 0],
    ['repositories', 'web', 'setup', 0],
  ])
    assert.equal(isContextPlaceholder(path, 'NPM_TOKEN'), 'whole');
  assert.equal(isContextPlaceholder(['repositories', 'web', 'url'], 'HOST'), false);
  const { repositories } = SharedRepositories.parse({ repositories: { web: { url, setup } } });
  assert.deepEqual(repositories.web?.setup, [setup]);
});
