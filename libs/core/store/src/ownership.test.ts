import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { acquireOwnership } from './ownership.ts';

interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  line(): Promise<string>;
}

function start(t: TestContext, dir: string): Child {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../testing/owner.ts'), dir]);
  t.after(() => child.kill('SIGKILL'));
  child.stderr.resume();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { process: child, line: async () => (await lines.next()).value ?? '' };
}

const REFUSAL = 'profile neo is already served by another gateway process';

test('exactly one of several processes that start together owns the profile', deadline, async (t) => {
  const dir = tempDir(t);
  for (let round = 0; round < 3; round += 1) {
    const children = [start(t, dir), start(t, dir)];
    const lines = await Promise.all(children.map((child) => child.line()));
    assert.deepEqual(lines.toSorted(), ['owner', REFUSAL]);
    const owner = children[lines.indexOf('owner')];
    const loser = children[lines.indexOf(REFUSAL)];
    assert.ok(owner && loser);
    if (loser.process.exitCode === null) await once(loser.process, 'exit');
    assert.equal(loser.process.exitCode, 1);
    owner.process.kill('SIGKILL');
    await once(owner.process, 'exit');
  }
});

test('an owner that is killed or releases the profile frees it', deadline, async (t) => {
  const dir = join(tempDir(t), 'state');
  const first = start(t, dir);
  assert.equal(await first.line(), 'owner');
  assert.throws(() => acquireOwnership({ dir, profile: 'neo' }), { code: 'PROFILE_ALREADY_SERVED' });
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');

  const mine = acquireOwnership({ dir, profile: 'neo' });
  const second = start(t, dir);
  assert.equal(await second.line(), REFUSAL);
  mine[Symbol.dispose]();
  mine[Symbol.dispose]();

  const third = start(t, dir);
  assert.equal(await third.line(), 'owner');
  third.process.stdin.write('release\n');
  assert.equal(await third.line(), 'released');
  acquireOwnership({ dir, profile: 'neo' })[Symbol.dispose]();
});

test('ownership survives garbage collection when its holder drops the handle', deadline, async (t) => {
  const dir = tempDir(t);
  const script = `
    import { acquireOwnership } from ${JSON.stringify(join(import.meta.dirname, 'ownership.ts'))};
    acquireOwnership({ dir: ${JSON.stringify(dir)}, profile: 'neo' });
    for (let i = 0; i < 3; i += 1) { await new Promise(setImmediate); globalThis.gc(); }
    process.stdout.write('collected\\n');
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--expose-gc', '--input-type=module', '--eval', script]);
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'collected');
  assert.throws(() => acquireOwnership({ dir, profile: 'neo' }), { message: REFUSAL });
});

test('a directory that cannot hold the lock is a configuration error', deadline, (t) => {
  const dir = tempDir(t);
  writeFileSync(join(dir, 'file'), '');
  assert.throws(() => acquireOwnership({ dir: join(dir, 'file'), profile: 'neo' }), {
    code: 'CONFIG_INVALID',
  });
  mkdirSync(join(dir, 'odd', 'owner.lock'), { recursive: true });
  assert.throws(() => acquireOwnership({ dir: join(dir, 'odd'), profile: 'neo' }), {
    code: 'CONFIG_INVALID',
    message: /owner\.lock: unable to open database file/,
  });
});
