import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parseAllDocuments } from 'yaml';
import { fleet } from '../../testing/profile-stub.ts';
import { lockFolder } from '../local/folder-lock.ts';

test('keys init says that NATS must be restarted when its users have changed, and only then', async (t) => {
  const dir = join(tempDir(t), 'keys');
  const init = async (): Promise<string> => (await fleet(['keys', 'init', '--dir', dir])).stdout;
  assert.match(await init(), /^keys: \d+ created, 0 repaired, 0 unchanged\n$/);
  assert.match(await init(), /^keys: 0 created, 0 repaired, \d+ unchanged\n$/);
  rmSync(join(dir, 'console'), { recursive: true });
  assert.match(await init(), /^keys: 3 created, 1 repaired, \d+ unchanged\nrestart NATS: .+ new users .+\n$/);
});

test('keys init and rotate wait for no command that is at work on the fleet of the keys: they are refused', async (t) => {
  const dir = tempDir(t);
  {
    using _lock = lockFolder(dir, 'fleet up');
    for (const name of ['init', 'rotate']) {
      const { code, stderr } = await fleet(['keys', name, '--dir', join(dir, 'keys')]);
      assert.notEqual(code, 0);
      assert.match(stderr, /fleet up \(process \d+, since .+\) is at work on/);
    }
    assert.equal(readdirSync(dir).includes('keys'), false);
    assert.match((await fleet(['keys', 'init', '--dir', join(dir, 'others')])).stdout, /^keys: \d+ created/);
  }
  assert.match((await fleet(['keys', 'init', '--dir', join(dir, 'keys')])).stdout, /^keys: \d+ created/);
  assert.deepEqual(readdirSync(dir).sort(), ['keys', 'others', 'version']);
});

test('keys kubernetes prints a Secret for each reader but the operator, with every key of its folder', async (t) => {
  const dir = join(tempDir(t), 'keys');
  assert.match(
    (await fleet(['keys', 'kubernetes', '--dir', dir])).stderr,
    /no keys of a NATS cluster: .+ --nats-cluster/,
  );
  await fleet([
    'keys',
    'init',
    '--dir',
    dir,
    '--replicas',
    'neo=2',
    '--nats-cluster',
    'nats-0.nats,nats-1.nats',
  ]);
  rmSync(join(dir, 'trinity'), { recursive: true });
  assert.match(
    (await fleet(['keys', 'kubernetes', '--dir', dir])).stderr,
    /no keys of trinity: make them with fleet keys init/,
  );
  await fleet(['keys', 'init', '--dir', dir]);
  const { stdout } = await fleet(['keys', 'kubernetes', '--dir', dir, '--namespace', 'agents']);
  const secrets = parseAllDocuments(stdout).map((document) => document.toJS());
  const names = ['switch', 'neo', 'morpheus', 'trinity', 'trader', 'console', 'setup', 'nats'];
  assert.deepEqual(
    secrets.map(({ metadata }) => metadata.name),
    names.map((name) => `keys-${name}`),
  );
  for (const { kind, metadata, data } of secrets) {
    assert.deepEqual([kind, metadata.namespace], ['Secret', 'agents']);
    const reader = metadata.name.slice('keys-'.length);
    const files = readdirSync(join(dir, reader)).filter(
      (file) => reader !== 'nats' || file.endsWith('.conf'),
    );
    assert.deepEqual(Object.keys(data), files.sort());
    for (const [file, text] of Object.entries(data))
      assert.equal(
        Buffer.from(String(text), 'base64').toString(),
        readFileSync(join(dir, reader, file), 'utf8'),
      );
  }
  assert.equal(Buffer.from(secrets[1].data['neo-2.NATS_USER'], 'base64').toString(), 'neo-2');
  assert.ok(!stdout.includes(Buffer.from(readFileSync(join(dir, 'operator/token'))).toString('base64')));
});
