import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { initKeys, keyPaths } from '@hermes-fleet/cli';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv } from '@hermes-fleet/service';
import { parse } from 'yaml';
import { ROOT, runProgram } from '../../test/support/fleet.ts';
import { SHIPPED_SERVICES } from '../../test/support/shipped.ts';

/** Stands in for `docker` where no Swarm is: keeps secrets as files, and what it was told to deploy. */
const DOCKER = `#!/bin/sh
set -eu
cd "$DOCKER_STATE"
case "$1 $2" in
  'secret inspect') [ -e "secret/$3" ] ;;
  'secret create') cat >"secret/$5" ;;
  'secret ls' | 'config ls') ls "$1" ;;
  'secret rm' | 'config rm') rm "$1/$3" ;;
  'stack deploy') env >environment; shift 2; printf '%s\\n' "$@" >deployed ;;
  'stack services') echo service ;;
  'service inspect') cat services.json ;;
  *) echo "docker $*?" >&2; exit 1 ;;
esac
`;

interface Deployment {
  readonly keys: string;
  readonly state: string;
  up(...files: string[]): Promise<{ readonly code: number | null; readonly stderr: string }>;
  /** The arguments of \`docker stack deploy\`. */
  deployed(): string[];
  /** The environment that the stack was deployed with. */
  environment(): ReadonlyMap<string, string>;
}

function prepare(t: TestContext): Deployment {
  const dir = tempDir(t);
  const keys = join(dir, 'my keys');
  const state = join(dir, 'state');
  for (const folder of ['bin', 'state/secret', 'state/config'])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(state, 'services.json'), '[]');
  writeFileSync(join(dir, 'bin/docker'), DOCKER);
  chmodSync(join(dir, 'bin/docker'), 0o755);
  initKeys({
    dir: keys,
    services: SHIPPED_SERVICES,
    replicas: new Map([['neo', 1]]),
    nats: { storeDir: '/data', host: '0.0.0.0', port: 4222, syncAlways: true },
  });
  const env = { ...process.env, PATH: `${join(dir, 'bin')}:${process.env.PATH}`, DOCKER_STATE: state };
  return {
    keys,
    state,
    up: (...files) => runProgram(join(ROOT, 'deploy/swarm/up.sh'), ['hermes', keys, ...files], { env }),
    deployed: () => readFileSync(join(state, 'deployed'), 'utf8').trim().split('\n'),
    environment: () =>
      new Map(
        [...readFileSync(join(state, 'environment'), 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(
          ([, name = '', value = '']) => [name, value],
        ),
      ),
  };
}

describe('up.sh', () => {
  it('makes a secret for each reader, and gives the stack every variable and each further file', async (t) => {
    const { keys, state, up, deployed, environment } = prepare(t);
    writeFileSync(join(keys, 'neo/ANTHROPIC_API_KEY'), 'a key of the user\n');
    const { code, stderr } = await up('/my files/ports.yml');
    assert.equal(code, 0, stderr);
    const secrets = readdirSync(join(state, 'secret'));
    const readers = ['console', 'morpheus', 'nats', 'neo', 'setup', 'switch', 'trader', 'trinity'];
    assert.deepEqual(
      secrets.map((name) => name.replace(/^hermes_keys-(\w+)_[0-9a-f]{12}$/, '$1')),
      readers,
    );
    const bundle = join(state, 'secret', `hermes_keys-neo_${environment().get('KEYS_neo')}`);
    const env = createSecretEnv({ HERMES_KEYS_FILE: bundle, HERMES_NAME: 'neo-1' });
    for (const variable of ['A2A_HERMES_TOKEN_NEO_TO_SWITCH', 'A2A_HERMES_TOKEN_OPERATOR'])
      assert.equal(env.read(variable), readFileSync(keyPaths(keys).variable('neo', variable), 'utf8'));
    assert.equal(env.read('NATS_USER'), 'neo-1');
    assert.equal(env.read('ANTHROPIC_API_KEY'), 'a key of the user');
    const stack = readFileSync(join(ROOT, 'deploy/swarm/stack.yml'), 'utf8');
    const needed = new Set([...stack.matchAll(/\$\{(\w+):\?\}/g)].map(([, name = '']) => name));
    assert.ok(needed.size > 10);
    for (const name of needed) assert.match(environment().get(name) ?? '', /./, name);
    assert.deepEqual(deployed().slice(-5), [
      '--compose-file',
      join(ROOT, 'deploy/swarm/stack.yml'),
      '--compose-file',
      '/my files/ports.yml',
      'hermes',
    ]);
  });

  it('deploys members that have the time to migrate a large ledger, and NATS to read its streams', () => {
    const stack = parse(readFileSync(join(ROOT, 'deploy/swarm/stack.yml'), 'utf8'), { merge: true });
    for (const member of ['nats', 'switch', 'neo', 'morpheus', 'trinity', 'neo-pool', 'trader', 'console'])
      assert.equal(stack.services[member].healthcheck.start_period, '600s', member);
  });

  it('bounds the SysV IPC of profiles as Compose does', () => {
    const read = (file: string) => parse(readFileSync(join(ROOT, file), 'utf8'), { merge: true });
    const [stack, compose] = [read('deploy/swarm/stack.yml'), read('docker-compose.yml')];
    for (const profile of ['switch', 'neo', 'morpheus', 'trinity', 'neo-pool'])
      assert.deepEqual(stack.services[profile].sysctls, compose.services.neo.sysctls, profile);
  });

  it('gives only the readers of a changed key another version', async (t) => {
    const { keys, up, environment } = prepare(t);
    await up();
    const before = environment();
    const password = keyPaths(keys).variable('neo', 'neo-1.NATS_PASSWORD');
    rmSync(password);
    writeFileSync(password, 'another password');
    await up();
    const changed = [...environment()].filter(([name, value]) => before.get(name) !== value);
    assert.deepEqual(
      changed.map(([name]) => name),
      ['KEYS_neo'],
    );
  });

  it('deploys nothing if a key cannot be read or a reader has none', async (t) => {
    const { keys, state, up } = prepare(t);
    mkdirSync(join(keys, 'trader', 'UNREADABLE'));
    assert.notEqual((await up()).code, 0);
    rmSync(join(keys, 'trader'), { recursive: true });
    assert.notEqual((await up()).code, 0);
    assert.equal(existsSync(join(state, 'deployed')), false);
    assert.ok(readdirSync(join(state, 'secret')).every((name) => !name.includes('trader')));
  });

  it('run again, makes nothing twice, and removes the secrets and configs that no service uses or would use after a rollback', async (t) => {
    const { state, up, environment } = prepare(t);
    await up();
    const count = readdirSync(join(state, 'secret')).length;
    const now = `hermes_keys-neo_${environment().get('KEYS_neo')}`;
    for (const file of ['secret/hermes_keys-neo_before', 'secret/hermes_keys-neo_old', 'config/hermes_old'])
      writeFileSync(join(state, file), '');
    const spec = (name: string): object => ({ Secrets: [{ SecretName: name }] });
    const services = [{ Spec: spec(now), PreviousSpec: spec('hermes_keys-neo_before') }];
    writeFileSync(join(state, 'services.json'), JSON.stringify(services));
    const { code, stderr } = await up();
    assert.equal(code, 0, stderr);
    const left = readdirSync(join(state, 'secret')).filter((name) => name.includes('neo'));
    assert.deepEqual(left.sort(), ['hermes_keys-neo_before', now].sort());
    // It made none again.
    assert.equal(readdirSync(join(state, 'secret')).length, count + 1);
    assert.deepEqual(readdirSync(join(state, 'config')), []);
  });
});
