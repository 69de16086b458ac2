import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parse } from 'yaml';
import { fleet } from '../../testing/profile-stub.ts';

/** A new fleet folder, and `fleet` in it. */
async function newFolder(t: TestContext, ...options: string[]) {
  const root = join(tempDir(t), 'my fleet');
  const made = await fleet(['init', root, '--yes', ...options]);
  assert.equal(made.code, 0, made.stderr);
  const before = process.env.FLEET_FOLDER;
  process.env.FLEET_FOLDER = root;
  t.after(() => {
    if (before === undefined) delete process.env.FLEET_FOLDER;
    else process.env.FLEET_FOLDER = before;
  });
  return root;
}

/** Every file of a folder but what the fleet writes, with its text. */
const textsIn = (root: string): ReadonlyMap<string, string> =>
  new Map(
    globSync('**', { cwd: root, exclude: ['.fleet/**'] })
      .filter((path) => statSync(join(root, path)).isFile())
      .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  );

test('a profile is added with its model, and removed again without a trace in the files of the others', async (t) => {
  const root = await newFolder(t, '--trader');
  const before = textsIn(root);
  const options = [
    '--model',
    'openai-compatible/q#1',
    '--base-url',
    'http://127.0.0.1:8000/v1',
    '--key-env',
    'MODEL_API_KEY',
  ];
  const more = ['--tier', 'opus', '--purpose', 'Finds "it": now.', '--like', 'neo'];
  const added = await fleet(['profile', 'add', 'oracle', ...options, ...more]);
  assert.equal(added.code, 0, added.stderr);
  assert.match(added.stdout, /^oracle is a member, on port 9225:$/m);
  assert.ok(existsSync(join(root, '.fleet/keys/switch/A2A_HERMES_TOKEN_SWITCH_TO_ORACLE')));
  assert.match(readFileSync(join(root, '.fleet/keys/nats/nats.conf'), 'utf8'), /user: "oracle"/);
  const { fleet: own } = parse(readFileSync(join(root, 'profiles/oracle/fleet.yaml'), 'utf8'));
  assert.deepEqual([own.tier, own.purpose, own.role], ['opus', 'Finds "it": now.', 'worker']);
  assert.equal(own.server.bind_port, `\${ORACLE_PORT:-9225}`);
  assert.deepEqual(Object.keys(own.agents).toSorted(), ['morpheus', 'neo', 'switch', 'trinity']);
  assert.equal(own.agents.neo.token_env, 'A2A_HERMES_TOKEN_ORACLE_TO_NEO');
  assert.equal(own.nats.inbox_prefix, `_INBOX_\${HERMES_NAME:-oracle}`);
  const config = parse(readFileSync(join(root, 'profiles/oracle/config.yaml'), 'utf8'));
  assert.deepEqual(
    [config.model, config.base_url, config.api_key_env],
    ['openai-compatible/q#1', 'http://127.0.0.1:8000/v1', 'MODEL_API_KEY'],
  );
  assert.match(
    readFileSync(join(root, 'profiles/oracle/IDENTITY.md'), 'utf8'),
    /HERMES_NAME:-oracle.*# Oracle/s,
  );
  assert.ok(!/\bneo\b/i.test(readFileSync(join(root, 'profiles/oracle/IDENTITY.md'), 'utf8')));

  const removed = await fleet(['profile', 'remove', 'oracle', '--yes']);
  assert.equal(removed.code, 0, removed.stderr);
  assert.deepEqual(textsIn(root), before);
  assert.ok(existsSync(join(root, '.fleet/removed/oracle-1/config.yaml')));
  const place = join(root, '.fleet/removed');
  renameSync(join(place, 'oracle-1'), join(place, 'oracle-2'));
  assert.match((await fleet(['profile', 'remove', 'neo', '--yes'])).stdout, /\.fleet\/removed\/neo-3$/m);
});

test('a profile that cannot be changes nothing', async (t) => {
  const root = await newFolder(t, '--profiles', 'switch,coder');
  const before = textsIn(root);
  for (const [args, reason] of [
    [['add', 'coder'], /coder is a profile already: nothing was changed/],
    [['add', 'trader'], /trader is a name that the fleet uses itself/],
    [['add', 'Oracle'], /Oracle is not a name of lower-case letters/],
    [['add', 'coder-2'], /coder-2 would be a replica beside coder/],
    [['add', 'oracle', '--port', '9219'], /cannot listen on port 9219, which is that of switch/],
    [['add', 'oracle', '--port', '70000'], /cannot listen on port 70000/],
    [['add', 'oracle', '--like', 'switch'], /switch is no worker of this fleet, only coder/],
    [['add', 'oracle', '--model', 'gpt'], /--model must be provider\/name/],
    [['add', 'oracle', '--tier', 'best'], /--tier must be haiku, sonnet, opus/],
    [['remove', 'switch', '--yes'], /switch takes the tasks, so every fleet has it/],
    [['remove', 'oracle', '--yes'], /oracle is no profile of this fleet, only switch, coder/],
    [['remove', 'coder'], /nobody can be asked here: add --yes/],
  ] as const) {
    const { code, stderr } = await fleet(['profile', ...args]);
    assert.notEqual(code, 0, args.join(' '));
    assert.match(stderr, reason);
  }
  writeFileSync(
    join(root, 'console/console.yaml'),
    'console: { profiles: { switch: { url: "http://x" } } }\n',
  );
  const { stderr } = await fleet(['profile', 'add', 'oracle']);
  assert.match(stderr, /console\.yaml: console\.profiles is a map in braces/);
  writeFileSync(join(root, 'console/console.yaml'), before.get('console/console.yaml') ?? '');
  writeFileSync(join(root, '.fleet/removed'), '');
  const unmoved = await fleet(['profile', 'remove', 'coder', '--yes']);
  assert.match(unmoved.stderr, /profiles\/coder cannot be moved .*: nothing was changed/);
  assert.deepEqual(textsIn(root), before);
});

test('a variable with the key of a profile reaches the containers', async (t) => {
  const root = await newFolder(t);
  await fleet(['profile', 'add', 'oracle', '--model', 'openai/x', '--key-env', 'ORACLE_KEY']);
  const { services } = parse(readFileSync(join(root, 'compose.yaml'), 'utf8'), { merge: true });
  assert.equal(services.oracle.environment.ORACLE_KEY, `\${ORACLE_KEY:-}`);
});
