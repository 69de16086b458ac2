import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type JsonObject, systemClock } from '@hermes-fleet/protocol';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect, headers, type NatsConnection } from 'nats';
import { busPermissions, inboxPrefix } from '../streams/permissions.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { STREAM } from '../streams/subjects.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { storedIds } from '../testing/observe.ts';
import { startProxy } from '../testing/proxy.ts';
import { type AnnounceBus, startAnnounceBus } from './announce-bus.ts';
import { type Announced, announceEvent, announcerOf } from './announce-event.ts';

const deadline = { timeout: 60_000 };
const said = (seq: number, more: JsonObject = {}): Announced => ({
  announce: { type: 'SESSION_ANNOUNCE', seq, ...more },
  instanceId: '0190-1',
  seq,
  at: Date.parse('2026-05-31T20:00:00Z'),
});

/** The received announces, and a promise of the first that matches. */
function recorder() {
  const heard: { from: string; announce: JsonObject }[] = [];
  const waiting = new Set<() => void>();
  return {
    heard,
    onAnnounce: (announce: JsonObject, from: string) => {
      heard.push({ from, announce });
      for (const check of waiting) check();
    },
    until: (fits: () => boolean) =>
      new Promise<void>((resolve) => {
        const check = (): void => {
          if (!fits()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

async function guarded(t: TestContext, names = ['switch', 'neo', 'morpheus']): Promise<NatsServer> {
  return startNatsServer(t, {
    users: [
      { user: 'setup', password: 'setup-password' },
      ...names.map((name) => ({ user: name, password: `${name}-pw`, permissions: busPermissions(name) })),
    ],
  });
}

interface On {
  readonly url: string;
  readonly user?: string;
  readonly log?: ReturnType<typeof recordingLog>;
  readonly onAnnounce?: (announce: JsonObject, from: string) => Promise<void> | void;
}

function busOf(t: TestContext, profile: string, options: On): AnnounceBus {
  const user = options.user ?? profile;
  const bus = startAnnounceBus({
    connection: {
      servers: [options.url],
      name: `${profile}/announces`,
      user,
      pass: `${user}-pw`,
      inboxPrefix: inboxPrefix(user),
    },
    profile,
    clock: systemClock,
    log: options.log ?? silentLog,
    random: () => 0,
    ...(options.onAnnounce ? { onAnnounce: options.onAnnounce } : {}),
  });
  t.after(() => bus.close());
  return bus;
}

/** Resolves when the bus receives everything that is published from now on. */
async function listening(bus: AnnounceBus): Promise<void> {
  while (!bus.state().connected) await systemClock.sleep(5);
}

async function as(t: TestContext, url: string, user: string): Promise<NatsConnection> {
  const nc = await connect({ servers: url, user, pass: `${user}-pw`, inboxPrefix: inboxPrefix(user) });
  t.after(() => nc.close());
  return nc;
}

test('an announce reaches other listeners and the stream, but not its sender', deadline, async (t) => {
  const server = await guarded(t);
  const set = { user: 'setup', pass: 'setup-password' };
  await setUpStreams({ connection: { servers: [server.url], name: 's', ...set }, log: silentLog });
  const { heard, until, onAnnounce } = recorder();
  const listener = busOf(t, 'switch', { url: server.url, onAnnounce });
  await listening(listener);
  const neo = busOf(t, 'neo', { url: server.url });
  neo.publish(said(1, { role: 'worker' }));
  assert.equal(await neo.flush(20_000), true);
  listener.publish(said(7));
  assert.equal(await listener.flush(20_000), true);
  await until(() => heard.length === 1);
  assert.deepEqual(heard, [{ from: 'neo', announce: { type: 'SESSION_ANNOUNCE', seq: 1, role: 'worker' } }]);
  const ids = await storedIds(server.url, 'fleet.announce.>', set.user, set.pass);
  assert.deepEqual(ids.sort(), ['neo:0190-1:1', 'switch:0190-1:7']);
});

test(
  'while the broker is down only the latest announce is kept; it is sent after the reconnect',
  deadline,
  async (t) => {
    const server = await guarded(t);
    const { heard, until, onAnnounce } = recorder();
    const listener = busOf(t, 'switch', { url: server.url, onAnnounce });
    const neo = busOf(t, 'neo', { url: server.url });
    await Promise.all([listening(listener), listening(neo)]);
    await server.kill();
    while (neo.state().connected || listener.state().connected) await systemClock.sleep(10);
    for (let seq = 1; seq <= 1_000; seq += 1) neo.publish(said(seq));
    assert.equal(await neo.flush(50), false);
    await server.restart();
    await listening(listener);
    const settled = heard.length;
    neo.publish(said(1_001));
    await until(() => heard.some(({ announce }) => announce.seq === 1_001));
    assert.ok(heard.length <= settled + 2);
    assert.ok(heard.every(({ announce }) => Number(announce.seq) >= 1_000));
  },
);

test('an announce that is lost with its connection is sent again over the next one', deadline, async (t) => {
  const server = await guarded(t);
  const proxy = await startProxy(t, server.url);
  const { heard, until, onAnnounce } = recorder();
  const listener = busOf(t, 'switch', { url: server.url, onAnnounce });
  await listening(listener);
  const neo = busOf(t, 'neo', { url: proxy.url });
  await listening(neo);
  let cutAt: number | undefined;
  proxy.pass = ({ fromClient, line }) => {
    if (fromClient && line.startsWith('HPUB')) cutAt ??= proxy.connections();
    return cutAt === undefined || proxy.connections() > cutAt;
  };
  neo.publish(said(5));
  await until(() => heard.some(({ announce }) => announce.seq === 5));
  assert.ok(cutAt !== undefined && proxy.connections() > cutAt, 'it went over another connection');
});

test(
  'in a flood the newest announce of each profile is handled in sequence, and other messages are skipped',
  deadline,
  async (t) => {
    const server = await guarded(t);
    const log = recordingLog();
    const gate = Promise.withResolvers<void>();
    const { heard, until, onAnnounce } = recorder();
    let atOnce = 0;
    const listener = busOf(t, 'switch', {
      url: server.url,
      log,
      onAnnounce: async (announce, from) => {
        atOnce += 1;
        assert.equal(atOnce, 1);
        await gate.promise;
        onAnnounce(announce, from);
        atOnce -= 1;
        if (announce.seq === 2) throw new Error('not to be handled');
      },
    });
    await listening(listener);
    const [neo, morpheus] = [await as(t, server.url, 'neo'), await as(t, server.url, 'morpheus')];
    const publish = (nc: NatsConnection, name: string, seq: number): void =>
      nc.publish(`fleet.announce.${name}`, JSON.stringify(announceEvent(name, said(seq))));
    publish(neo, 'neo', 1);
    for (let seq = 2; seq <= 500; seq += 1) publish(neo, 'neo', seq);
    publish(morpheus, 'morpheus', 2);
    await Promise.all([neo.flush(), morpheus.flush()]);
    gate.resolve();
    const has = (name: string, seq: number) => (): boolean =>
      heard.some(({ from, announce }) => from === name && announce.seq === seq);
    await until(() => has('neo', 500)() && has('morpheus', 2)());
    const ofNeo = heard.filter(({ from }) => from === 'neo').map(({ announce }) => announce.seq);
    assert.equal(ofNeo.at(-1), 500);
    assert.ok(ofNeo.length < 100, ofNeo.join());
    await log.saw(/an announce on NATS was not handled/);

    for (const text of [
      'no json',
      '{}',
      JSON.stringify({ ...announceEvent('neo', said(9)), type: 'other' }),
    ]) {
      neo.publish('fleet.announce.neo', text);
      await neo.flush();
    }
    await log.saw(/skipped a message that is not an announce/);
    neo.publish('fleet.announce.neo', 'x'.repeat(300_000));
    await log.saw(/dropped an announce/);
    publish(neo, 'neo', 501);
    await until(() => heard.at(-1)?.announce.seq === 501);
  },
);

test(
  "a stored message that a profile directs at another's subject is not an announce of the other",
  deadline,
  async (t) => {
    const server = await guarded(t);
    const set = { user: 'setup', pass: 'setup-password' };
    await setUpStreams({ connection: { servers: [server.url], name: 's', ...set }, log: silentLog });
    const log = recordingLog();
    const { heard, until, onAnnounce } = recorder();
    await listening(busOf(t, 'switch', { url: server.url, log, onAnnounce }));
    const neo = await as(t, server.url, 'neo');
    const forged = JSON.stringify(announceEvent('morpheus', said(9)));
    for (const odd of [[], ['Nats-Stream', 'mine'], ['Nats-Subject', 'fleet.announce.morpheus']]) {
      const [key, value] = odd;
      const described = headers();
      if (key && value) described.set(key, value);
      const subject = `fleet.task.neo.odd${odd.length}`;
      await neo.jetstream().publish(subject, forged, { headers: described });
      neo.publish(`$JS.API.DIRECT.GET.${STREAM}.${subject}`, '', { reply: 'fleet.announce.morpheus' });
    }
    await log.saw(/that its profile has not sent/);
    const morpheus = busOf(t, 'morpheus', { url: server.url });
    morpheus.publish(said(10));
    await until(() => heard.some(({ announce }) => announce.seq === 10));
    assert.deepEqual(
      heard.map(({ from, announce }) => [from, announce.seq]),
      [['morpheus', 10]],
    );
  },
);

test('an announce that the server refuses is logged and does not block the next', deadline, async (t) => {
  const server = await guarded(t);
  const log = recordingLog();
  const foreign = busOf(t, 'morpheus', { url: server.url, user: 'neo', log });
  foreign.publish(said(1));
  await log.saw(/NATS refuses an announce/);
  const neo = busOf(t, 'neo', { url: server.url, log });
  neo.publish(said(1, { purpose: 'x'.repeat(2_000_000) }));
  await log.saw(/an announce cannot be published on NATS/);
  neo.publish(said(2));
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
  const bus = busOf(t, 'switch', { url: server.url, log, onAnnounce: () => assert.fail('heard something') });
  await log.saw(/does not permit this profile to receive announces/);
  bus.publish(said(1));
  assert.equal(await bus.flush(20_000), true);
});

test('close returns at once with an unsent announce and no broker', deadline, async (t) => {
  const bus = busOf(t, 'neo', { url: 'nats://127.0.0.1:1' });
  bus.publish(said(1));
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

test(
  "an acknowledgement that another user directs at a profile's subject replaces none of its announces",
  deadline,
  async (t) => {
    const server = await guarded(t);
    const set = { user: 'setup', pass: 'setup-password' };
    await setUpStreams({ connection: { servers: [server.url], name: 's', ...set }, log: silentLog });
    const { heard, until, onAnnounce } = recorder();
    const log = recordingLog();
    const goOn = Promise.withResolvers<void>();
    const slowly = async (announce: JsonObject, from: string): Promise<void> => {
      onAnnounce(announce, from);
      await goOn.promise;
    };
    const listener = busOf(t, 'switch', { url: server.url, log, onAnnounce: slowly });
    await listening(listener);
    const morpheus = busOf(t, 'morpheus', { url: server.url });
    morpheus.publish(said(1));
    await until(() => heard.length === 1);
    morpheus.publish(said(2));
    assert.equal(await morpheus.flush(20_000), true);
    const neo = await as(t, server.url, 'neo');
    neo.publish('fleet.task.neo.x', 'anything', { reply: 'fleet.announce.morpheus' });
    while (!JSON.stringify(log).includes('dropped a message that is not an announce'))
      await systemClock.sleep(5);
    goOn.resolve();
    await until(() => heard.length === 2);
    assert.deepEqual(
      heard.map(({ from, announce }) => [from, announce.seq]),
      [
        ['morpheus', 1],
        ['morpheus', 2],
      ],
    );
  },
);
