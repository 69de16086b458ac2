import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DONE, profile } from '@hermes-fleet/gateway/testing';
import type { ArtifactPart } from '@hermes-fleet/protocol/ports';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { type Ended, fleet } from '../../testing/profile-stub.ts';

const LARGE = 'x'.repeat(300_000);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A profile whose task has added these parts, and the command for it, with a folder that no test shares. */
async function taskWith(t: TestContext, parts: readonly ArtifactPart[]) {
  const neo = await profile(t, {
    isFreeOfEffects: true,
    script: async (_task, { artifacts }) => {
      if (parts.length > 0)
        await artifacts?.add({ id: 'a', place: 0, name: 'out/report', parts, isLast: true });
      return DONE;
    },
  });
  await neo.serve();
  // Not the address that the profile's card has, as where a container publishes a port.
  const reach = ['--reach', `neo=http://localhost:${neo.port}`];
  const id = await neo.send({ text: 'x' });
  await neo.result(id);
  const folder = join(tempDir(t, { prefix: 'fleet-artifacts-' }), 'new', 'out');
  const save = (...more: string[]): Promise<Ended> =>
    fleet(['task', id, '--artifacts', folder, ...reach, ...more], '', {
      FLEET_TOKEN: 'token-of-operator-for-neo',
    });
  return { id, neo, folder, save };
}

test('task --artifacts saves text, data and files, inline and by reference, below safe names', async (t) => {
  const { folder, save, id } = await taskWith(t, [
    { kind: 'text', text: 'first' },
    { kind: 'data', data: { rows: 2 } },
    { kind: 'file', base64: base64('one'), name: '../../x' },
    { kind: 'file', base64: base64('two'), name: '/etc/x' },
    { kind: 'file', base64: base64('three'), name: 'a\u0000b' },
    { kind: 'file', base64: base64('four'), name: `${'y'.repeat(250)}.csv` },
    { kind: 'file', base64: '', name: 'empty' },
    { kind: 'text', text: LARGE },
    { kind: 'file', base64: base64(LARGE), name: 'large.bin' },
  ]);
  const { code, stdout, stderr } = await save();
  assert.deepEqual([code, stderr], [0, '']);
  const expected: readonly (readonly [string, string])[] = [
    ['report.txt', 'first'],
    ['report.json', '{"rows":2}'],
    ['x', 'one'],
    ['x-2', 'two'],
    ['a_b', 'three'],
    [`${'y'.repeat(116)}.csv`, 'four'],
    ['empty', ''],
    ['report-2.txt', LARGE],
    ['large.bin', LARGE],
  ];
  assert.deepEqual(
    stdout.trimEnd().split('\n'),
    expected.map(([name]) => join(folder, name)),
  );
  for (const [name, text] of expected) assert.equal(readFileSync(join(folder, name), 'utf8'), text, name);
  assert.equal(readdirSync(folder).length, expected.length);
  assert.deepEqual(readdirSync(join(folder, '../..')), ['new']);
  const document = JSON.parse((await save('--force', '--json')).stdout);
  assert.deepEqual([document.id, document.profile, document.not_saved], [id, 'neo', []]);
  assert.deepEqual(document.saved[0], { artifact: 'a', path: join(folder, 'report.txt'), bytes: 5 });
});

test('a file that exists stays as it is, and --force replaces it, but follows no link', async (t) => {
  const { folder, save } = await taskWith(t, [
    { kind: 'file', base64: base64('one'), name: 'first' },
    { kind: 'file', base64: base64('two'), name: 'linked' },
  ]);
  const victim = join(folder, '..', 'victim');
  mkdirSync(folder, { recursive: true });
  symlinkSync(victim, join(folder, 'linked'));
  const refused = await save();
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /^fleet: .*linked exists: nothing was saved; --force replaces it\n$/);
  assert.deepEqual(readdirSync(folder), ['linked']);
  writeFileSync(victim, 'mine');
  assert.equal((await save('--force')).code, 0);
  assert.equal(readFileSync(victim, 'utf8'), 'mine');
  assert.equal(readFileSync(join(folder, 'linked'), 'utf8'), 'two');
  assert.ok(!lstatSync(join(folder, 'linked')).isSymbolicLink());
  assert.deepEqual(readdirSync(folder), ['first', 'linked']);
});

test('a link to another address is named, and neither it nor the token is sent anywhere', async (t) => {
  let calls = 0;
  const server = createServer((_request, response) => {
    calls += 1;
    response.end('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  const url = `http://127.0.0.1:${address.port}/secret`;
  const { folder, save } = await taskWith(t, [
    { kind: 'link', url, name: 'elsewhere' },
    { kind: 'text', text: 'here' },
  ]);
  const { code, stdout, stderr } = await save();
  assert.deepEqual([code, stdout, calls], [1, `${join(folder, 'report.txt')}\n`, 0]);
  assert.match(stderr, new RegExp(`^not saved: elsewhere at ${url}: peer "neo" refers to a file .*\n$`));
});

test('a task without artifacts makes no folder, and a folder that cannot be made is named', async (t) => {
  const empty = await taskWith(t, []);
  assert.deepEqual(await empty.save(), { code: 0, stdout: '', stderr: 'the task has no artifacts\n' });
  assert.throws(() => lstatSync(empty.folder), /ENOENT/);
  const { folder, save } = await taskWith(t, [{ kind: 'text', text: 'x' }]);
  writeFileSync(join(folder, '../..', 'new'), '');
  const { code, stderr } = await save();
  assert.equal(code, 1);
  assert.match(stderr, /^fleet: \S+out cannot be made \(ENOTDIR\)\n$/);
  assert.equal((await fleet(['task', 'x', '--force'])).code, 2);
});
