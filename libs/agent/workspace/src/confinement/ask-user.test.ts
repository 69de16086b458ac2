import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { memoryFile, PERL } from '../../testing/memory-attacks.ts';
import { askUser } from './ask-user.ts';

const MIB = 20;
const SOMEBODY = 1500;

/** Asks this user in the name of another one, which needs no right to become that; `first` runs before the script. */
const asks = (first = ':', command = '/bin/sh') =>
  askUser({
    shellAs: (_user, script, args) => ({ command, args: ['-c', `${first}; ${script}`, 'sh', ...args] }),
    clock: systemClock,
    log: silentLog,
  })(SOMEBODY);

test('a user is asked what it holds, also while its processes begin and end', async (t) => {
  const held = spawn(PERL, ['-e', `$| = 1; ${memoryFile(MIB)} print "x"; sleep 100`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const busy = spawn('/bin/sh', ['-c', 'while :; do /bin/true 3< /dev/null; done']);
  t.after(() => [held, busy].map((each) => each.kill('SIGKILL')));
  await once(held.stdout, 'data');
  for (let times = 0; times < 10; times += 1) {
    const asked = await asks();
    assert.equal(asked(held.pid ?? 0), MIB * 1024);
    assert.equal(asked(busy.pid ?? 0), 0);
  }
});

test('a user that ends what asks it may hold everything', async (t) => {
  const held = spawn(PERL, ['-e', `$| = 1; ${memoryFile(1)} print "x"; sleep 100`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => held.kill('SIGKILL'));
  await once(held.stdout, 'data');
  for (const program of ['find', 'stat', 'grep', 'awk']) {
    const folder = tempDir(t);
    writeFileSync(join(folder, program), '#!/bin/sh\nkill -9 $$\n');
    chmodSync(join(folder, program), 0o755);
    const asked = await asks(`PATH=${folder}:$PATH`);
    assert.equal(asked(held.pid ?? 0), Number.POSITIVE_INFINITY, program);
  }
  const ended = [await asks('kill -9 $$'), await asks('exit 0'), await asks(':', '/nowhere/sh')];
  for (const asked of ended) assert.equal(asked(held.pid ?? 0), Number.POSITIVE_INFINITY);
});
