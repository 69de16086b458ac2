import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect, createInbox, type NatsConnection } from 'nats';
import { startNatsServer } from '../../testing/nats-server.ts';
import { storedIds } from '../../testing/observe.ts';
import { openTestOutbox } from '../../testing/outbox.ts';
import { announceEvent } from '../announces/announce-event.ts';
import { consume } from '../consume/consume.ts';
import { createOutboxPublisher } from '../outbox/outbox-publisher.ts';
import { busPermissions, inboxPrefix } from './permissions.ts';
import { setUpStreams } from './set-up-streams.ts';

const deadline = { timeout: 60_000 };
const set = { user: 'setup', pass: 'setup-password' };

async function guardedBus(t: TestContext) {
  const profile = (name: string, options: Parameters<typeof busPermissions>[1] = {}) => ({
    user: name,
    password: `${name}-password`,
    permissions: busPermissions(name, options),
  });
  const server = await startNatsServer(t, {
    users: [
      { user: set.user, password: set.pass },
      ...[profile('neo'), profile('morpheus'), profile('trader', { control: true })],
    ],
  });
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up', ...set }, log: silentLog });
  const as = async (name: string): Promise<NatsConnection> => {
    const nc = await connect({
      servers: server.url,
      user: name,
      pass: `${name}-password`,
      inboxPrefix: inboxPrefix(name),
    });
    t.after(() => nc.close());
    return nc;
  };
  return { server, as };
}

test('the permissions suffice for an outbox publisher, including its read-back', deadline, async (t) => {
  const { server } = await guardedBus(t);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(200);
  const publisher = createOutboxPublisher({
    connection: {
      servers: [server.url],
      name: 'neo/outbox',
      user: 'neo',
      pass: 'neo-password',
      inboxPrefix: inboxPrefix('neo'),
    },
    source: outbox,
    subjectPrefixes: ['fleet.task.neo'],
    log: silentLog,
    clock: systemClock,
  });
  t.after(() => publisher.close());
  assert.equal(await publisher.flush(30_000), true);
  await server.restart();
  outbox.append(200);
  assert.equal(await publisher.flush(30_000), true);
  assert.deepEqual(await storedIds(server.url, 'fleet.task.>', set.user, set.pass), outbox.ids());
});

const REFUSED = [
  'fleet.task.morpheus.done',
  'fleet.announce.morpheus',
  'fleet.control.account.market',
  'fleet.audit.trader',
  '$JS.API.STREAM.DELETE.FLEET',
  '$JS.API.STREAM.PURGE.FLEET',
  '$JS.API.STREAM.UPDATE.FLEET',
  '$JS.API.STREAM.MSG.GET.FLEET',
  '$JS.API.STREAM.MSG.DELETE.FLEET',
  '$JS.API.DIRECT.GET.FLEET',
  '$JS.API.DIRECT.GET.FLEET.fleet.task.>',
  '$JS.API.DIRECT.GET.FLEET.fleet.task.morpheus.done',
  '$JS.API.DIRECT.GET.FLEET.fleet.announce.neo',
  '$JS.API.CONSUMER.CREATE.FLEET',
  '$JS.API.STREAM.DELETE.FLEET_ANNOUNCE',
  '$JS.API.STREAM.PURGE.FLEET_ANNOUNCE',
  '$JS.API.STREAM.UPDATE.FLEET_ANNOUNCE',
  '$JS.API.STREAM.MSG.GET.FLEET_ANNOUNCE',
  '$JS.API.STREAM.MSG.DELETE.FLEET_ANNOUNCE',
  '$JS.API.DIRECT.GET.FLEET_ANNOUNCE',
  '$JS.API.DIRECT.GET.FLEET_ANNOUNCE.fleet.announce.neo',
  '$JS.API.DIRECT.GET.FLEET_ANNOUNCE.fleet.announce.morpheus',
  '$JS.API.CONSUMER.CREATE.FLEET_ANNOUNCE',
  '_INBOX_morpheus.reply',
];

const AUDIT_API = [
  '$JS.API.STREAM.DELETE.FLEET_AUDIT',
  '$JS.API.STREAM.PURGE.FLEET_AUDIT',
  '$JS.API.STREAM.UPDATE.FLEET_AUDIT',
  '$JS.API.STREAM.MSG.GET.FLEET_AUDIT',
  '$JS.API.STREAM.MSG.DELETE.FLEET_AUDIT',
  '$JS.API.DIRECT.GET.FLEET_AUDIT',
  '$JS.API.CONSUMER.CREATE.FLEET_AUDIT',
];

const REFUSED_TO: Readonly<Record<string, readonly string[]>> = {
  neo: [
    ...[...REFUSED, ...AUDIT_API],
    'fleet.audit.neo',
    'fleet.control.neo.market',
    'fleet.trade.account.market',
    '$JS.API.DIRECT.GET.FLEET.fleet.trade.>',
    '$JS.API.DIRECT.GET.FLEET.fleet.control.>',
    '$JS.API.DIRECT.GET.FLEET.fleet.control.account.market',
    '$JS.API.DIRECT.GET.FLEET_AUDIT.fleet.audit.trader',
    '$JS.API.DIRECT.GET.FLEET_AUDIT.fleet.audit.neo',
  ],
  trader: [
    ...REFUSED.filter((subject) => !['fleet.control.account.market', 'fleet.audit.trader'].includes(subject)),
    ...AUDIT_API,
    'fleet.audit.neo',
    'fleet.audit.trader.x',
    'fleet.task.neo.done',
    'fleet.announce.neo',
    '$JS.API.DIRECT.GET.FLEET.fleet.task.neo.done',
    '$JS.API.DIRECT.GET.FLEET.fleet.>',
    '$JS.API.DIRECT.GET.FLEET_AUDIT.fleet.audit.neo',
    '$JS.API.DIRECT.GET.FLEET_AUDIT.fleet.audit.>',
  ],
};

test("no user may publish on another's subjects or change a stream", deadline, async (t) => {
  const { as } = await guardedBus(t);
  for (const [user, subjects] of Object.entries(REFUSED_TO)) {
    const nc = await as(user);
    for (const subject of subjects)
      await assert.rejects(
        nc.request(subject, '{}', { timeout: 10_000 }),
        { code: 'PERMISSIONS_VIOLATION' },
        `${user} on ${subject}`,
      );
  }
});

test('the trader publishes control events and its head, and reads them back', deadline, async (t) => {
  const { as } = await guardedBus(t);
  const trader = await as('trader');
  const head = 'fleet.audit.trader';
  const own = ['fleet.task.trader.done', 'fleet.trade.account.market'];
  const subjects = ['fleet.control.account.market', head, ...own];
  for (const [n, subject] of subjects.entries()) {
    const ack = await trader.jetstream().publish(subject, `message ${n}`);
    assert.equal(ack.stream, subject === head ? 'FLEET_AUDIT' : 'FLEET');
  }
  for (const [filter, text] of [
    ['FLEET.fleet.control.>', 'message 0'],
    ['FLEET.fleet.control.account.market', 'message 0'],
    [`FLEET_AUDIT.${head}`, 'message 1'],
    ['FLEET.fleet.task.trader.>', 'message 2'],
  ]) {
    const read = await trader.request(`$JS.API.DIRECT.GET.${filter}`, '', { timeout: 10_000 });
    assert.equal(Buffer.from(read.data).toString(), text, filter);
  }
  trader.publish('fleet.announce.trader', 'hello');
  await trader.flush();
});

test('a profile may not set up the streams, and the error says so', deadline, async (t) => {
  const { server } = await guardedBus(t);
  const connection = {
    servers: [server.url],
    name: 'neo',
    user: 'neo',
    pass: 'neo-password',
    inboxPrefix: inboxPrefix('neo'),
  };
  await assert.rejects(setUpStreams({ connection, log: silentLog }), {
    code: 'CONFIG_INVALID',
    message: /NATS refuses the stream FLEET\w* at .*Permissions Violation.*restart NATS/,
  });
});

test('a set-up user without permission for the announce stream changes nothing', deadline, async (t) => {
  const verbs = ['INFO', 'CREATE', 'UPDATE'].map((verb) => `$JS.API.STREAM.${verb}.FLEET`);
  const older = { user: 'older', password: 'older-pw' };
  const server = await startNatsServer(t, {
    users: [
      { user: set.user, password: set.pass },
      { ...older, permissions: { publish: verbs, subscribe: ['_INBOX_older.>'] } },
    ],
  });
  const nc = await connect({ servers: server.url, ...set });
  t.after(() => nc.close());
  const { streams } = await nc.jetstreamManager();
  const subjects = ['fleet.task.>'];
  await streams.add({ name: 'FLEET', subjects });
  const connection = {
    servers: [server.url],
    name: 'older',
    user: older.user,
    pass: older.password,
    inboxPrefix: inboxPrefix('older'),
  };
  await assert.rejects(setUpStreams({ connection, log: silentLog }), {
    code: 'CONFIG_INVALID',
    message: /NATS refuses the stream FLEET_ANNOUNCE at .*restart NATS/,
  });
  assert.deepEqual((await streams.info('FLEET')).config.subjects, subjects);
});

test("a profile may not subscribe to another's inbox or to the fleet's events", deadline, async (t) => {
  const { as } = await guardedBus(t);
  const neo = await as('neo');
  for (const subject of ['_INBOX_morpheus.>', '_INBOX.>', 'fleet.>', 'fleet.task.neo.>', '>', '$JS.API.>']) {
    const subscription = neo.subscribe(subject);
    await assert.rejects(
      async () => {
        for await (const message of subscription) assert.fail(`got ${message.subject}`);
      },
      { code: 'PERMISSIONS_VIOLATION' },
      subject,
    );
  }
  const own = neo.subscribe(createInbox(inboxPrefix('neo')), { max: 1 });
  await neo.flush();
  own.unsubscribe();
});

test("a profile receives others' announces but may not announce in another's name", deadline, async (t) => {
  const { as } = await guardedBus(t);
  const [neo, morpheus] = [await as('neo'), await as('morpheus')];
  const announces = neo.subscribe('fleet.announce.>', { max: 1 });
  await neo.flush();
  morpheus.publish('fleet.announce.morpheus', 'hello');
  for await (const { subject, data } of announces)
    assert.deepEqual([subject, Buffer.from(data).toString()], ['fleet.announce.morpheus', 'hello']);
  await assert.rejects(neo.request('fleet.announce.morpheus', '{}', { timeout: 10_000 }), {
    code: 'PERMISSIONS_VIOLATION',
  });
});

test('an event that a profile has the server store under another subject is skipped', deadline, async (t) => {
  const { server, as } = await guardedBus(t);
  const [neo, morpheus] = [await as('neo'), await as('morpheus')];
  const event = (seq: number) =>
    JSON.stringify(announceEvent('morpheus', { announce: {}, instanceId: 'i', seq, at: 0 }));
  await neo.jetstream().publish('fleet.task.neo.done', event(1));
  neo.publish('$JS.API.DIRECT.GET.FLEET.fleet.task.neo.done', '', { reply: 'fleet.task.morpheus.done' });
  const admin = await connect({ servers: server.url, ...set });
  t.after(() => admin.close());
  const { streams } = await admin.jetstreamManager();
  while ((await streams.info('FLEET')).state.messages < 2) await systemClock.sleep(20);
  await morpheus.jetstream().publish('fleet.task.morpheus.done', event(3));
  const done = new AbortController();
  const log = recordingLog();
  const read: string[] = [];
  await consume({
    connection: { servers: [server.url], name: 'reader', ...set },
    filter: 'fleet.task.morpheus.>',
    fromStart: true,
    signal: done.signal,
    log,
    clock: systemClock,
    onEvent: ({ id }) => {
      read.push(id);
      done.abort();
    },
  });
  assert.deepEqual(read, ['morpheus:i:3']);
  assert.match(JSON.stringify(log), /did not send/);
});
