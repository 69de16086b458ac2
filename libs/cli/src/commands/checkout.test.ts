import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const MAIN = join(import.meta.dirname, '../main.ts');

/** Runs the command with a mode; without one that exists, nothing is started or stopped. */
const inMode = (mode: string, ...args: string[]) =>
  spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { ...process.env, FLEET_MODE: mode },
    timeout: 60_000,
  });

test('up, down, ps and logs run the command of ./fleet, and end with its exit code', () => {
  for (const verb of ['up', 'down', 'ps', 'logs']) {
    const { status, stderr } = inMode('swarm', verb);
    assert.deepEqual([status, stderr], [2, 'FLEET_MODE must be docker or process, not "swarm"\n'], verb);
  }
  const { status, stderr } = inMode('docker', 'ps', '-o', 'yaml');
  assert.equal(status, 2);
  assert.match(stderr, /^fleet: ps takes no "-o yaml" for a fleet in containers/);
});
