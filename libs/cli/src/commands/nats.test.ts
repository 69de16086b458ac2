import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fleet, keysFolder } from '../../testing/profile-stub.ts';

const WRONG: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [['nats'], /nats needs a command/],
  [['nats', 'forget'], /unknown command 'forget'/],
  [['nats', 'setup', 'x'], /nats setup takes no "x"/],
  [['nats', 'forget-head'], /takes the name of one service/],
  [['nats', 'forget-head', 'trader', 'switch'], /takes the name of one service/],
  [['nats', 'forget-head', 'trader', '--server', 'nats://127.0.0.1:1'], /--server needs --as-is/],
  [['nats', 'forget-head', 'trader', '--all'], /--all/],
];

test('an invalid nats command line ends with 2 and a message', async () => {
  for (const [args, says] of WRONG) {
    const { code, stderr } = await fleet(args);
    assert.deepEqual([code, says.test(stderr)], [2, true], `${args.join(' ')}: ${stderr}`);
  }
});

test('forget-head fails without a NATS server and for a name that is a wildcard', async (t) => {
  const { dir } = keysFolder(t);
  const away = await fleet(['nats', 'forget-head', 'trader', '--dir', dir, '--port-offset', '20001']);
  assert.deepEqual([away.code, away.stdout], [1, '']);
  assert.match(away.stderr, /^fleet: the head on fleet\.audit\.trader cannot be forgotten: no NATS server/);
  const several = await fleet(['nats', 'forget-head', '*', '--dir', dir]);
  assert.deepEqual([several.code, several.stderr], [1, 'fleet: "*" is not the name of a service\n']);
});
