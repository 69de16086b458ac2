import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cannotConfine } from '../../testing/index.ts';
import { bubblewrapArgs } from './bubblewrap.ts';

test('a command that owns its root can fill no file system in memory but those with a size', {
  skip: cannotConfine('bubblewrap'),
}, () => {
  const reach = { writable: [], readOnly: [] };
  const args = bubblewrapArgs({
    reach,
    readable: [],
    asRoot: false,
    ownNetwork: false,
  });
  const run = (script: string) =>
    spawnSync('bwrap', [...args, '--', '/bin/sh', '-c', script], { encoding: 'utf8' });
  for (const path of ['/fill', '/dev/fill', '/run-of-its-own/fill']) {
    const { status, stderr } = run(`mkdir -p $(dirname ${path}); echo x > ${path}`);
    assert.notEqual(status, 0, path);
    assert.match(stderr, /Read-only file system/, path);
  }
  for (const path of ['/tmp/fill', '/dev/shm/fill']) {
    assert.equal(run(`echo x > ${path}`).stderr, '', path);
    assert.match(run(`head -c 300M /dev/zero > ${path}`).stderr, /No space left on device/, path);
  }
  assert.equal(run('echo x > /dev/null').status, 0);
});
