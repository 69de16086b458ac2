import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parse } from 'yaml';
import { fleet, serveAnswers } from '../../testing/profile-stub.ts';

const yamlOf = (...path: string[]) => parse(readFileSync(join(...path), 'utf8'), { merge: true });

test('without a terminal init asks nothing, and makes a fleet of four profiles that calls no model', async (t) => {
  const root = join(tempDir(t), 'Acme Fleet ü');
  const { code, stdout, stderr } = await fleet(['init', root]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Next: cd '.*Acme Fleet ü' && fleet up$/m);
  const members = yamlOf(root, 'members.yaml');
  assert.deepEqual(Object.keys(members.profiles), ['switch', 'neo', 'morpheus', 'trinity']);
  assert.match(members.name, /^acme-fleet-[0-9a-f]{4}$/);
  const config = yamlOf(root, 'profiles/switch/config.yaml');
  assert.deepEqual(
    [config.model, Object.keys(config.mcp.servers)],
    ['offline/runbook', ['filesystem', 'memory']],
  );
  const { services, name } = yamlOf(root, 'compose.yaml');
  assert.equal(name, members.name);
  assert.ok(!('trader' in services) && !('build' in services.keys));
  assert.ok(services.switch.volumes.includes('./profiles/switch:/etc/hermes/profiles/switch:ro'));
  assert.equal(statSync(join(root, '.env.local')).mode & 0o777, 0o600);
  assert.ok(existsSync(join(root, '.fleet/keys/neo/NATS_USER')));
});

test('init with options: members, a trader, a private repository and an image', async (t) => {
  const root = join(tempDir(t), 'f');
  const options = ['--profiles', 'switch,coder', '--trader', '--image', 'registry.example/fleet:1'];
  const repository = [
    '--repository',
    'https://git.example/o/Web.App.git',
    '--base',
    'dev',
    '--repository-token-env',
    'WEB_TOKEN',
  ];
  const made = await fleet(['init', root, ...options, ...repository], '', { WEB_TOKEN: 'token-of-web' });
  assert.equal(made.code, 0, made.stderr);
  assert.deepEqual(yamlOf(root, 'members.yaml').profiles, { switch: { port: 9219 }, coder: { port: 9225 } });
  assert.deepEqual(Object.keys(yamlOf(root, 'profiles/coder/fleet.yaml').fleet.agents), ['switch']);
  assert.deepEqual(Object.keys(yamlOf(root, 'profiles/switch/fleet.yaml').fleet.agents), ['trader', 'coder']);
  assert.deepEqual(yamlOf(root, 'profiles/repositories.yaml').repositories, {
    'web-app': { url: 'https://git.example/o/Web.App.git', base: 'dev', token_env: 'WEB_TOKEN' },
  });
  const lines = readFileSync(join(root, '.env.local'), 'utf8').split('\n');
  assert.ok(
    lines.includes('FLEET_IMAGE=registry.example/fleet:1') && lines.includes('WEB_TOKEN=token-of-web'),
  );
  assert.equal(yamlOf(root, 'compose.yaml').services.coder.environment.WEB_TOKEN, `\${WEB_TOKEN:-}`);
});

test('the model is called once with the key, which is only in .env.local; a failed call keeps the folder', async (t) => {
  const usage = { prompt_tokens: 21, completion_tokens: 1 };
  const answer = { id: '1', choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }], usage };
  const keys: string[] = [];
  const url = await serveAnswers(
    t,
    {
      '/v1/chat/completions': {
        headers: { 'content-type': 'text/event-stream' },
        body: `data: ${JSON.stringify(answer)}\n\n`,
      },
    },
    ({ path, token }) => path === '/v1/chat/completions' && keys.push(token),
  );
  const root = join(tempDir(t), 'f');
  const init = (folder: string, address: string) =>
    fleet(
      [
        'init',
        folder,
        '--model',
        'openai-compatible/m',
        '--base-url',
        address,
        '--key-env',
        'MINE',
        '--profiles',
        'switch',
      ],
      '',
      { MINE: 'sk-of-a-test-0' },
    );
  const made = await init(root, `${url}/v1`);
  assert.equal(made.code, 0, made.stdout + made.stderr);
  assert.match(
    made.stdout,
    /^the model works: openai-compatible\/m: answered in \d+ ms \(21 tokens in, 1 out\)$/m,
  );
  assert.deepEqual(keys, ['sk-of-a-test-0']);
  assert.match(readFileSync(join(root, '.env.local'), 'utf8'), /^MODEL_API_KEY=sk-of-a-test-0$/m);
  assert.equal(yamlOf(root, 'profiles/switch/config.yaml').api_key_env, 'MODEL_API_KEY');
  assert.doesNotMatch(made.stdout + made.stderr, /sk-of-a-test/);

  const failed = await init(join(tempDir(t), 'g'), 'http://127.0.0.1:1/v1');
  assert.equal(failed.code, 1);
  assert.match(
    failed.stderr,
    /^the model does not work: .*\nthe folder stays: .*fleet doctor --call tests it again$/m,
  );
});

test('init refuses a folder that has one of its files, and wrong options, and changes nothing', async (t) => {
  const root = tempDir(t);
  mkdirSync(join(root, 'profiles'));
  writeFileSync(join(root, 'README.md'), 'mine');
  const { code, stderr } = await fleet(['init', root]);
  assert.equal(code, 1);
  assert.match(stderr, /has profiles, README\.md already, and nothing was changed/);
  assert.deepEqual(readdirSync(root).toSorted(), ['README.md', 'profiles']);
  for (const [options, reason] of [
    [['--profiles', 'neo'], /has no switch/],
    [['--profiles', 'switch,docker'], /docker is a name that the fleet uses itself/],
    [['--model', 'openai-compatible/x'], /needs --base-url/],
    [['--model', 'openai/x', '--key-env', 'NOT_SET_HERE'], /the variable NOT_SET_HERE is not set/],
    [['--repository', 'file:///x'], /must be an https address or a folder/],
    [['--repository', 'https://ghp_s3cret@x.example/y'], /--repository must have no user name/],
    [['--repository', 'http://me:s3cret@x.example/y'], /must have no .* name the variable/],
    [['--base', 'main'], /need --repository/],
    [['--profiles', 'switch,neo,switch'], /--profiles switch,neo,switch names switch twice/],
    [['--profiles', 'switch,,neo'], /--profiles switch,,neo has an empty name/],
    [['--profiles', `switch,${'x'.repeat(64)}`], /--profiles: x+ is longer than 63 characters/],
    [
      ['--repository', 'https://x.example/y', '--repository-token-env', 'no name'],
      /must be the name of a variable/,
    ],
  ] as const) {
    const folder = join(root, 'new');
    const refused = await fleet(['init', folder, ...options]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, reason);
    assert.doesNotMatch(refused.stderr, /s3cret/);
    assert.ok(!existsSync(folder));
  }
  const file = join(root, 'README.md');
  assert.match((await fleet(['init', file])).stderr, /README\.md is no folder, and nothing was changed/);
  assert.match((await fleet(['init', join(file, 'f')])).stderr, /cannot be written \(ENOTDIR\): nothing was/);
  assert.equal(readFileSync(file, 'utf8'), 'mine');
});
