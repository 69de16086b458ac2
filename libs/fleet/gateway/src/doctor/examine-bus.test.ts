import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { inboxPrefix, setUpStreams } from '@hermes-fleet/events';
import { startNatsServer } from '@hermes-fleet/events/testing';
import { systemClock as clock, silentLog } from '@hermes-fleet/protocol/ports';
import { freePort } from '../../testing/free-port.ts';
import { examineBus } from './examine-bus.ts';

const check = async (servers: string[], login: { user?: string; pass?: string } = {}, giveUpMs?: number) => {
  const connection = { servers, name: 'fleet/neo/doctor', ...login, inboxPrefix: inboxPrefix('neo') };
  const [finding] = await examineBus({
    profile: 'neo',
    connection,
    clock,
    ...(giveUpMs === undefined ? {} : { giveUpMs }),
  });
  assert.ok(finding);
  return finding;
};

test('a bus without its stream fails, and a bus that accepts events is ok', async (t) => {
  const nats = await startNatsServer(t);
  const missing = await check([nats.url]);
  assert.equal(missing.state, 'failed');
  assert.match(missing.detail, /stream FLEET does not answer: is it set up/);
  assert.ok(missing.fix);
  await setUpStreams({ connection: { servers: [nats.url], name: 'set-up' }, log: silentLog });
  assert.deepEqual((await check([nats.url])).state, 'ok');
});

test('a refused login fails', async (t) => {
  const nats = await startNatsServer(t, { users: [{ user: 'neo', password: 'the-right-one-0123' }] });
  const { state, detail } = await check([nats.url], { user: 'neo', pass: 'a-wrong-one-012345' });
  assert.equal(state, 'failed');
  assert.match(detail, /refuses this user and password/);
  assert.ok(!detail.includes('a-wrong-one'));
});

test('a password in an address is not shown', async () => {
  const { state, detail } = await check([`nats://neo:the-right-one-0123@127.0.0.1:${await freePort()}`]);
  assert.equal(state, 'failed');
  assert.match(detail, /^nats:\/\/127\.0\.0\.1:\d+: /);
  assert.ok(!detail.includes('the-right-one'));
});

test('a server that is unreachable, or does not answer, fails', async (t) => {
  const away = await check([`nats://127.0.0.1:${await freePort()}`]);
  assert.match(away.detail, /ECONNREFUSED/);
  const mute = createServer(() => {});
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  t.after(() => mute.close());
  const address = mute.address();
  assert.ok(typeof address === 'object' && address);
  const { state, detail } = await check([`nats://127.0.0.1:${address.port}`], {}, 300);
  assert.equal(state, 'failed');
  assert.match(detail, /no answer in time|does not answer/);
});
