import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { AgentConfigSchema } from './config-yaml.ts';
import { repositoriesOf, repositoryProblems, withFilesIn } from './repositories.ts';

const url = 'https://github.com/acme/web.git';
const disk = {
  unmet: () => undefined,
  monitor: () => () => ({ [Symbol.dispose]: () => {} }),
  watchFree: () => ({ signal: AbortSignal.any([]), [Symbol.dispose]: () => {} }),
};
const place = { disk, network: undefined };
const configOf = (repository: object, shell: object = {}) =>
  AgentConfigSchema.parse({ tools: { shell }, workspace: { repositories: { web: { url, ...repository } } } });
const envOf = (values: Record<string, string>) => ({ read: (name: string) => values[name] });

function remote(repository: object, values: Record<string, string> = {}) {
  const [found] = repositoriesOf(configOf(repository), envOf(values), place);
  return found ?? assert.fail('there is none');
}

test('a task may name the base, and the branches of a pattern', () => {
  const { allows } = remote({ base: 'trunk', bases: ['release/*', 'team/**', 'v1.x'] });
  for (const branch of ['trunk', 'release/1.2', 'team/a', 'team/a/b', 'v1.x'])
    assert.ok(allows(branch), branch);
  for (const branch of ['main', 'release', 'release/1/2', 'x/team/a', 'v1xx', 'trunk2'])
    assert.ok(!allows(branch), branch);
  assert.ok(!remote({}).allows('other'));
});

test('a token is read at each fetch, and what is wrong with it names the key and not the token', (t) => {
  const file = join(tempDir(t), 'token');
  writeFileSync(file, 'one\n', { mode: 0o600 });
  const { token } = remote({ token_file: file });
  assert.equal(token(), 'one');
  writeFileSync(file, 'two');
  assert.equal(token(), 'two');
  const refused = (message: RegExp) => ({ code: 'CONFIG_INVALID', message });
  for (const text of ['', 'a secret']) {
    writeFileSync(file, text);
    assert.throws(token, refused(/^repositories\.web\.token_file: (?!.*a secret)/));
  }
  chmodSync(file, 0o640);
  assert.throws(token, refused(/other users may use .*; give the token to the gateway alone: chmod 600$/));
  const values: Record<string, string> = { WEB_TOKEN: 'one' };
  const fromEnv = remote({ token_env: 'WEB_TOKEN' }, values).token;
  assert.equal(fromEnv(), 'one');
  delete values.WEB_TOKEN;
  assert.throws(fromEnv, refused(/^repositories\.web\.token_env: WEB_TOKEN is not set: export it/));
  assert.equal(remote({}).token(), undefined);
});

test('the secrets of a set-up are read when it runs', () => {
  const values: Record<string, string> = { NPM_TOKEN: 'npm_0123456789' };
  const { setUp } = remote({ setup: 'npm ci', setup_secrets: ['NPM_TOKEN'] }, values);
  assert.deepEqual(setUp?.secrets?.(), values);
  delete values.NPM_TOKEN;
  assert.throws(() => setUp?.secrets?.(), {
    code: 'CONFIG_INVALID',
    message: /^repositories\.web\.setup_secrets: NPM_TOKEN is not set/,
  });
  assert.equal(remote({ setup: 'npm ci' }).setUp?.secrets, undefined);
  assert.equal(remote({}).setUp, undefined);
});

test('everything that a repository takes from elsewhere is checked at once', (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'ca.pem'), 'nothing');
  const repository = {
    token_env: 'GONE',
    ca_file: 'ca.pem',
    setup: 'true',
    setup_secrets: ['SHORT', 'SHARED'],
  };
  const { workspace, tools } = configOf(repository, { env: { SHARED: 'x' } });
  const env = envOf({ SHORT: 'short', SHARED: 'long-enough' });
  const found = repositoryProblems(withFilesIn(workspace.repositories, dir), tools, env);
  assert.deepEqual(
    found.map(({ path }) => path),
    ['web.token_env', 'web.ca_file', 'web.setup_secrets[0]', 'web.setup_secrets[1]'],
  );
  const reasons = found.map(({ reason }) => reason).join('\n');
  assert.match(
    reasons,
    /^GONE is not set.*\n.*\/ca\.pem has no certificate.*\nSHORT is shorter.*\nSHARED is in tools/,
  );
  assert.doesNotMatch(reasons, /long-enough/);
  const shared = configOf({ token_env: 'SHARED' }).workspace.repositories;
  assert.deepEqual(repositoryProblems(shared, tools, env), [
    {
      path: 'web.token_env',
      reason: 'SHARED is in tools.shell.env too, which every command gets; remove it there',
    },
  ]);
  const gone = withFilesIn(configOf({ token_file: 'no', ca_file: 'no' }).workspace.repositories, dir);
  assert.match(
    repositoryProblems(gone, tools, env)
      .map(({ path, reason }) => `${path} ${reason}`)
      .join('\n'),
    /^web\.token_file .*\/no does not exist; write the token into it\nweb\.ca_file .*\/no cannot be read/,
  );
});
