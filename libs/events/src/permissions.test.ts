import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol';
import { connect, createInbox, type NatsConnection } from 'nats';
import { busPermissions, inboxPrefix } from './permissions.ts';
import { startRelay } from './relay.ts';
import { setUpStreams } from './stream.ts';
import { startNatsServer } from './testing/nats-server.ts';
import { recordingLog, storedIds } from './testing/observe.ts';
import { openTestOutbox } from './testing/outbox.ts';

const deadline = { timeout: 60_000 };
const set = { user: 'setup', pass: 'setup-password' };

async function guardedBus(t: TestContext) {
  const profile = (name: string) => ({
    user: name,
    password: `${name}-password`,
    permissions: busPermissions(name),
  });
  const server = await startNatsServer(t, {
    users: [{ user: set.user, password: set.pass }, profile('neo'), profile('morpheus')],
  });
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up', ...set }, log: recordingLog() });
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

test('they suffice for a relay, also when it must read back', deadline, async (t) => {
  const { server } = await guardedBus(t);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(200);
  const relay = startRelay({
    connection: {
      servers: [server.url],
      name: 'neo/relay',
      user: 'neo',
      pass: 'neo-password',
      inboxPrefix: inboxPrefix('neo'),
    },
    source: outbox,
    subjectPrefix: 'fleet.task.neo',
    log: recordingLog(),
    clock: systemClock,
  });
  t.after(() => relay.close());
  assert.equal(await relay.flush(30_000), true);
  await server.restart();
  outbox.append(200);
  assert.equal(await relay.flush(30_000), true);
  assert.deepEqual(await storedIds(server.url, 'fleet.>', set.user, set.pass), outbox.ids());
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
  '$JS.API.CONSUMER.CREATE.FLEET',
  '_INBOX_morpheus.reply',
];

for (const subject of REFUSED) {
  test(`neo may not publish to ${subject}`, deadline, async (t) => {
    const { as } = await guardedBus(t);
    const neo = await as('neo');
    await assert.rejects(neo.request(subject, '{}', { timeout: 10_000 }), { code: 'PERMISSIONS_VIOLATION' });
  });
}

test('a profile may not set up the stream, and is told so', deadline, async (t) => {
  const { server } = await guardedBus(t);
  const connection = {
    servers: [server.url],
    name: 'neo',
    user: 'neo',
    pass: 'neo-password',
    inboxPrefix: inboxPrefix('neo'),
  };
  await assert.rejects(setUpStreams({ connection, log: recordingLog() }), {
    code: 'CONFIG_INVALID',
    message: /NATS refuses the stream FLEET.*Permissions Violation/,
  });
});

test("neo may not listen to another's inbox or to the fleet's events", deadline, async (t) => {
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

test('a name that would widen a subject is refused', () => {
  for (const name of ['*', '>', 'a.b', 'neo ', '', 'neo.>']) {
    assert.throws(() => busPermissions(name), { code: 'CONFIG_INVALID' }, JSON.stringify(name));
  }
});
