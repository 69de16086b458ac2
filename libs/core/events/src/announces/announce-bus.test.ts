import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { announced, openBus, recordAnnounces, startServer, untilConnected } from '../../testing/announces.ts';
import { startNatsServer } from '../../testing/nats-server.ts';
import { storedIds } from '../../testing/observe.ts';
import { startProxy } from '../../testing/proxy.ts';
import { busPermissions } from '../streams/permissions.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { announcerOf } from './announce-event.ts';

const deadline = { timeout: 60_000 };
test('an announce reaches other listeners and the stream, but not its sender', deadline, async (t) => {
  const server = await startServer(t);
  const set = { user: 'setup', pass: 'setup-password' };
  await setUpStreams({ connection: { servers: [server.url], name: 's', ...set }, log: silentLog });
  const { received, until, onAnnounce } = recordAnnounces();
  const listener = openBus(t, 'switch', { url: server.url, onAnnounce });
  await untilConnected(listener);
  const neo = openBus(t, 'neo', { url: server.url });
  neo.publish(announced(1, { role: 'worker' }));
  assert.equal(await neo.flush(20_000), true);
  listener.publish(announced(7));
  assert.equal(await listener.flush(20_000), true);
  await until(() => received.length === 1);
  assert.deepEqual(received, [
    { from: 'neo', announce: { type: 'SESSION_ANNOUNCE', seq: 1, role: 'worker' } },
  ]);
  const ids = await storedIds(server.url, 'fleet.announce.>', set.user, set.pass);
  const instance = '019e7fb2-6a00-7000-8000-000000000001';
  assert.deepEqual(ids.sort(), [`neo:${instance}:1`, `switch:${instance}:7`]);
});

test(
  'while the broker is down only the latest announce is kept; it is sent after the reconnect',
  deadline,
  async (t) => {
    const server = await startServer(t);
    const { received, until, onAnnounce } = recordAnnounces();
    const listener = openBus(t, 'switch', { url: server.url, onAnnounce });
    const neo = openBus(t, 'neo', { url: server.url });
    await Promise.all([untilConnected(listener), untilConnected(neo)]);
    await server.kill();
    while (neo.state().connected || listener.state().connected) await systemClock.sleep(10);
    for (let seq = 1; seq <= 1_000; seq += 1) neo.publish(announced(seq));
    assert.equal(await neo.flush(50), false);
    await server.restart();
    await untilConnected(listener);
    const settled = received.length;
    neo.publish(announced(1_001));
    await until(() => received.some(({ announce }) => announce.seq === 1_001));
    assert.ok(received.length <= settled + 2);
    assert.ok(received.every(({ announce }) => Number(announce.seq) >= 1_000));
  },
);

test('an announce that is lost with its connection is sent again over the next one', deadline, async (t) => {
  const server = await startServer(t);
  const proxy = await startProxy(t, server.url);
  const { received, until, onAnnounce } = recordAnnounces();
  const listener = openBus(t, 'switch', { url: server.url, onAnnounce });
  await untilConnected(listener);
  const neo = openBus(t, 'neo', { url: proxy.url });
  await untilConnected(neo);
  let cutAt: number | undefined;
  proxy.pass = ({ fromClient, line }) => {
    if (fromClient && line.startsWith('HPUB')) cutAt ??= proxy.connections();
    return cutAt === undefined || proxy.connections() > cutAt;
  };
  neo.publish(announced(5));
  await until(() => received.some(({ announce }) => announce.seq === 5));
  assert.ok(cutAt !== undefined && proxy.connections() > cutAt, 'it went over another connection');
});

test('an announce that the server refuses is logged and does not block the next', deadline, async (t) => {
  const server = await startServer(t);
  const log = recordingLog();
  const foreign = openBus(t, 'morpheus', { url: server.url, user: 'neo', log });
  foreign.publish(announced(1));
  await log.saw(/NATS refuses an announce/);
  const neo = openBus(t, 'neo', { url: server.url, log });
  neo.publish(announced(1, { purpose: 'x'.repeat(2_000_000) }));
  await log.saw(/an announce cannot be published on NATS/);
  neo.publish(announced(2));
  assert.equal(await neo.flush(20_000), true);
});

test('a user without permission to receive announces logs that, and still announces', deadline, async (t) => {
  const { publish } = busPermissions('switch');
  const server = await startNatsServer(t, {
    users: [
      { user: 'switch', password: 'switch-pw', permissions: { publish, subscribe: ['_INBOX_switch.>'] } },
    ],
  });
  const log = recordingLog();
  const bus = openBus(t, 'switch', {
    url: server.url,
    log,
    onAnnounce: () => assert.fail('received something'),
  });
  await log.saw(/does not permit this profile to receive announces/);
  bus.publish(announced(1));
  assert.equal(await bus.flush(20_000), true);
});

test('close returns at once with an unsent announce and no broker', deadline, async (t) => {
  const bus = openBus(t, 'neo', { url: 'nats://127.0.0.1:1' });
  bus.publish(announced(1));
  const flushing = bus.flush(60_000);
  await bus.close();
  assert.equal(await flushing, false);
  assert.equal(await bus.flush(60_000), false);
  assert.equal(bus.state().connected, false);
});

test('the subject names the announcer', () => {
  const table: [string, string | undefined][] = [
    ['fleet.announce.neo', 'neo'],
    ['fleet.announce.a.b', undefined],
    ['fleet.announce.', undefined],
    ['fleet.announce', undefined],
    ['fleet.task.neo', undefined],
  ];
  for (const [subject, name] of table) assert.equal(announcerOf(subject), name, subject);
});
