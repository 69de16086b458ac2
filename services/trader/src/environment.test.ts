import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { readEnvironment } from './environment.ts';

test('the trader uses HERMES_HOME/trader, with or without --profile', () => {
  const expected = {
    name: 'trader',
    home: '/srv',
    dir: '/srv/trader',
    stateDir: '/srv/trader/state',
    logLevel: 'info',
    revision: undefined,
  };
  for (const argv of [[], ['--profile', 'trader']])
    assert.deepEqual(readEnvironment(argv, { HERMES_HOME: '/srv' }), expected);
});

test('another name and unknown options are refused', () => {
  assert.throws(
    () => readEnvironment(['--profile', 'neo'], {}),
    (thrown) => thrown instanceof FleetError && thrown.code === 'CONFIG_INVALID',
  );
  assert.throws(() => readEnvironment(['--porfile', 'trader'], {}), /--porfile/);
});
