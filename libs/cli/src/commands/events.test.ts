import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet, keysFolder } from '../testing/profile-stub.ts';

test('an invalid events command line ends with 2 and names the option', async () => {
  const wrong: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['events', 'x'], /events takes no "x"/],
    [['events', '--type', 'a.b'], /--type must be one of submitted, .*, not "a\.b"/],
    [['events', '--profile', '>'], /--profile must be one word of .*, not ">"/],
  ];
  for (const [args, says] of wrong) {
    const { code, stderr } = await fleet(args);
    assert.deepEqual([code, says.test(stderr)], [2, true], `${args.join(' ')}: ${stderr}`);
  }
});

test('events ends with one line when NATS does not answer, also with --follow, and without keys', async (t) => {
  const { dir } = keysFolder(t);
  for (const follow of [[], ['--follow']]) {
    const away = await fleet(['events', ...follow, '--dir', dir, '--port-offset', '20001']);
    assert.deepEqual([away.code, away.stdout], [1, '']);
    assert.match(away.stderr, /^fleet: events cannot be read: no NATS server: 127\.0\.0\.1:24223 .*\n$/);
  }
  const empty = await fleet(['events', '--dir', tempDir(t)]);
  assert.match(empty.stderr, /^fleet: the operator's NATS login is not in .*: start the fleet first\n$/);
});
