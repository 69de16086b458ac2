import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { initKeys, type KeysOptions } from './init.ts';
import { parseReplicas } from './replicas.ts';

const SERVICES = ['switch', 'neo', 'trader'];
const nats = { storeDir: '/data', host: '127.0.0.1', port: 4222, monitorPort: 8222, syncAlways: true };

function keysIn(t: TestContext) {
  const dir = join(tempDir(t, { prefix: 'keys-' }), 'keys');
  return {
    dir,
    init: (more: Partial<KeysOptions> = {}) => initKeys({ dir, services: SERVICES, nats, ...more }),
  };
}

const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test('a replica has a NATS user of its own, and every other key of its service', (t) => {
  const { dir, init } = keysIn(t);
  init();
  const before = filesIn(dir);
  init({ replicas: new Map([['neo', 2]]) });
  const added = filesIn(dir).filter((file) => !before.includes(file));
  assert.deepEqual(added.map((file) => file.slice(dir.length + 1)).sort(), [
    'neo/neo-1.NATS_PASSWORD',
    'neo/neo-1.NATS_USER',
    'neo/neo-2.NATS_PASSWORD',
    'neo/neo-2.NATS_USER',
  ]);
  assert.equal(read(dir, 'neo', 'neo-2.NATS_USER'), 'neo-2');
  const config = read(dir, 'nats', 'nats.conf');
  for (const name of ['neo-1', 'neo-2']) {
    assert.match(config, new RegExp(`user: "${name}"`));
    assert.match(config, new RegExp(`fleet\\.task\\.${name}\\.>`));
    assert.ok(config.includes(read(dir, 'neo', `${name}.NATS_PASSWORD`)));
  }
});

test('replicas keep their users when keys are made or rotated without their number', (t) => {
  const { dir, init } = keysIn(t);
  init({ replicas: new Map([['neo', 2]]) });
  const config = read(dir, 'nats', 'nats.conf');
  assert.equal(init().repaired, 0);
  assert.equal(read(dir, 'nats', 'nats.conf'), config);
  const password = read(dir, 'neo', 'neo-2.NATS_PASSWORD');
  init({ renew: true });
  const renewed = read(dir, 'neo', 'neo-2.NATS_PASSWORD');
  assert.notEqual(renewed, password);
  assert.ok(read(dir, 'nats', 'nats.conf').includes(renewed));
});

test('a replica that is a service too, and an invalid number, are refused', (t) => {
  const { init } = keysIn(t);
  const taken = { code: 'CONFIG_INVALID', message: /names are taken/ };
  assert.throws(() => init({ services: ['neo', 'neo-1'], replicas: new Map([['neo', 1]]) }), taken);
  for (const text of [
    'neo',
    'neo=',
    'neo=-1',
    'neo=x',
    'neo=10001',
    'tank=1',
    'switch=2',
    'trader=1',
    'neo-x=2',
  ])
    assert.throws(
      () => parseReplicas([text], SERVICES),
      (error: unknown) => {
        assert.ok(error instanceof FleetError && error.code === 'CONFIG_INVALID');
        assert.deepEqual(
          error.fields.map(({ path }) => path),
          [text],
        );
        return true;
      },
    );
  assert.throws(() => parseReplicas(['neo=1', 'neo=2'], SERVICES), /cannot be replicas/);
  assert.deepEqual([...parseReplicas(['neo=10'], SERVICES)], [['neo', 10]]);
});
