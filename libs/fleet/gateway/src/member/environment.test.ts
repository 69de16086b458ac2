import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { profileDir, readMemberEnvironment, traderDir } from './environment.ts';

test("a member's folder is below HERMES_HOME and its state in HERMES_STATE_DIR", () => {
  const neo = readMemberEnvironment('neo', (home) => profileDir(home, 'neo'), { HERMES_HOME: '/srv/fleet' });
  assert.deepEqual(neo, {
    name: 'neo',
    home: '/srv/fleet',
    dir: '/srv/fleet/profiles/neo',
    stateDir: '/srv/fleet/profiles/neo/state',
    logLevel: 'info',
    revision: undefined,
  });
  const env = {
    HERMES_HOME: '/srv/fleet',
    HERMES_STATE_DIR: '/state',
    LOG_LEVEL: 'debug',
    FLEET_REVISION: '1a2b3c4',
  };
  const trader = readMemberEnvironment('trader', traderDir, env);
  assert.deepEqual(trader, {
    name: 'trader',
    home: '/srv/fleet',
    dir: '/srv/fleet/trader',
    stateDir: '/state',
    logLevel: 'debug',
    revision: '1a2b3c4',
  });
});

test('HERMES_HOME defaults to deploy in the working directory', () => {
  assert.equal(readMemberEnvironment('trader', traderDir, {}).dir, resolve('deploy/trader'));
});
