import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet, keysFolder } from '../../testing/profile-stub.ts';

test('events ends with one line when NATS does not answer, also with --follow, and without keys', async (t) => {
  const { dir } = keysFolder(t);
  for (const follow of [[], ['--follow']]) {
    const away = await fleet(['events', ...follow, '--dir', dir, '--port-offset', '20001']);
    assert.deepEqual([away.code, away.stdout], [1, '']);
    assert.match(
      away.stderr,
      /^fleet: events cannot be read: no NATS server: 127\.0\.0\.1:24223 .*\nhint: .*\n$/,
    );
  }
  const empty = await fleet(['events', '--dir', tempDir(t)]);
  assert.match(
    empty.stderr,
    /^fleet: the operator's NATS login is not in .*\nhint: make ps shows what of the fleet runs.*\n$/,
  );
});
