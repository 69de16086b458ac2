import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect, type JetStreamManager, type NatsConnection, type StreamConfig } from 'nats';
import { until } from '../../testing/cluster-bus.ts';
import { startNatsServer } from '../../testing/nats-server.ts';
import { storedIds } from '../../testing/observe.ts';
import { openTestOutbox } from '../../testing/outbox.ts';
import { createOutboxPublisher, type OutboxPublisherOptions } from '../outbox/outbox-publisher.ts';
import { busPermissions, inboxPrefix, refillReader } from '../streams/permissions.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { STREAM } from '../streams/subjects.ts';
import { REFILLED, refill } from './refill.ts';

const deadline = { timeout: 60_000 };
const HOLE = (seq: number): boolean => seq % 7 === 3;

async function busOf(t: TestContext) {
  const server = await startNatsServer(t);
  const connection = { servers: [server.url], name: 'test' };
  const nc: NatsConnection = await connect({ servers: server.url });
  t.after(() => nc.close());
  const jsm: JetStreamManager = await nc.jetstreamManager();
  const setUp = () => setUpStreams({ connection, log: silentLog });
  await setUp();
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo', hole: HOLE });
  t.after(() => outbox.close());
  const common = { connection, source: outbox, subjectPrefixes: ['fleet.task.neo'], clock: systemClock };
  const log = recordingLog();
  const publisher = (more: Partial<OutboxPublisherOptions> = {}) => {
    const made = createOutboxPublisher({ ...common, reader: 'neo', log, ...more });
    t.after(() => made.close());
    return made;
  };
  const publish = async (): Promise<void> => {
    const made = publisher({ reader: undefined });
    assert.equal(await made.flush(20_000), true);
    await made.close();
  };
  /** What the profile says of the stream when it connects. */
  const missing = async (): Promise<number> => {
    const made = publisher();
    const count = await until('a comparison', () => made.state().missing);
    await made.close();
    return count;
  };
  const refilled = (more: { dryRun?: boolean } = {}) => refill({ ...common, reader: 'neo_refill', ...more });
  const update = async (change: Partial<StreamConfig>): Promise<void> => {
    const { config } = await jsm.streams.info(STREAM);
    await jsm.streams.update(STREAM, { ...config, ...change });
  };
  /** The stream with its events is lost, and set up again. */
  const lose = async (): Promise<void> => {
    await jsm.streams.delete(STREAM);
    await setUp();
  };
  return {
    server,
    nc,
    jsm,
    outbox,
    publish,
    missing,
    refilled,
    lose,
    update,
    log,
    ids: () => storedIds(server.url),
  };
}

test('a new stream gets what the old one had, in order and once, under the same ids', deadline, async (t) => {
  const bus = await busOf(t);
  bus.outbox.append(3_250);
  await bus.publish();
  await bus.lose();
  assert.equal(await bus.missing(), 3_250);
  const said = await bus.log.saw(/lacks 3250 events that it had acknowledged: fleet nats refill/);
  assert.equal(said.level, 'warn');
  const later = bus.outbox.ids().length;
  bus.outbox.append(40);
  await bus.publish();

  const found = { acknowledged: 3_290, missing: 3_250 };
  const { created: _, ...dry } = await bus.refilled({ dryRun: true });
  assert.deepEqual(dry, { ...found, published: 0 });
  const { created: __, ...real } = await bus.refilled();
  assert.deepEqual(real, { ...found, published: 3_250 });
  const all = bus.outbox.ids();
  assert.deepEqual(await bus.ids(), [...all.slice(later), ...all.slice(0, later)]);

  assert.equal((await bus.refilled()).missing, 0);
  assert.equal(await bus.missing(), 0);
  assert.deepEqual((await bus.ids()).length, 3_290);
});

test('an event that is published again is the same, with a header that says so', deadline, async (t) => {
  const bus = await busOf(t);
  bus.outbox.append(1);
  await bus.publish();
  const before = await bus.jsm.streams.getMessage(STREAM, { seq: 1 });
  await bus.lose();
  await bus.refilled();
  const after = await bus.jsm.streams.getMessage(STREAM, { seq: 1 });
  assert.equal(after.header.get('Nats-Msg-Id'), before.header.get('Nats-Msg-Id'));
  assert.deepEqual([after.subject, after.data], [before.subject, before.data]);
  assert.equal(before.header.has(REFILLED), false);
  assert.ok(Date.parse(after.header.get(REFILLED)) > 0);
});

test('a stream that lost its end gets that end, and nothing twice', deadline, async (t) => {
  const bus = await busOf(t);
  bus.outbox.append(100);
  await bus.publish();
  // The ids of the events that are gone are forgotten with them.
  await bus.update({ duplicate_window: 100_000_000 });
  for (let seq = 81; seq <= 100; seq += 1) await bus.jsm.streams.deleteMessage(STREAM, seq);
  await systemClock.sleep(300);
  assert.equal(await bus.missing(), 20);
  assert.equal((await bus.refilled()).published, 20);
  assert.deepEqual(await bus.ids(), bus.outbox.ids());
});

test('a refill that was interrupted is continued by the next one', deadline, async (t) => {
  const bus = await busOf(t);
  bus.outbox.append(100);
  await bus.publish();
  await bus.lose();
  const [half] = [bus.outbox.read(0, 50)];
  for (const { subject, event } of half)
    await bus.nc.jetstream().publish(subject, JSON.stringify(event), { msgID: event.id });
  assert.equal((await bus.refilled()).published, 50);
  assert.deepEqual(await bus.ids(), bus.outbox.ids());
});

/** Ordinary streams, which never lack anything. */
const ORDINARY: Record<string, (bus: Awaited<ReturnType<typeof busOf>>) => Promise<void>> = {
  'an empty one': async () => {},
  'one that holds everything': async (bus) => {
    bus.outbox.append(100);
    await bus.publish();
  },
  'one that was set up after the first events': async (bus) => {
    bus.outbox.append(50);
    await systemClock.sleep(20);
    await bus.lose();
    await bus.publish();
  },
  'one whose oldest events were removed for want of room': async (bus) => {
    bus.outbox.append(100);
    await bus.publish();
    await bus.update({ max_msgs: 30 });
  },
  'one that is full of the events of others': async (bus) => {
    bus.outbox.append(20);
    await bus.publish();
    await bus.update({ max_msgs: 10 });
    for (let n = 0; n < 20; n += 1) await bus.nc.jetstream().publish('fleet.task.switch.done', '{}');
  },
  'one that an operator emptied': async (bus) => {
    bus.outbox.append(20);
    await bus.publish();
    await bus.jsm.streams.purge(STREAM);
  },
  'one that holds events of a ledger before this one': async (bus) => {
    const other = openTestOutbox({ file: ':memory:', profile: 'neo', ledger: 'other' });
    other.append(20);
    for (const { subject, event } of other.read(0, 20))
      await bus.nc.jetstream().publish(subject, JSON.stringify(event), { msgID: event.id });
    other.close();
    bus.outbox.append(5);
    await bus.publish();
  },
};

for (const [name, prepare] of Object.entries(ORDINARY))
  test(`nothing is missed in a stream: ${name}`, deadline, async (t) => {
    const bus = await busOf(t);
    await prepare(bus);
    assert.equal(await bus.missing(), 0);
    assert.equal((await bus.refilled()).missing, 0);
    assert.deepEqual(
      bus.log.entries.filter(({ level }) => level === 'warn'),
      [],
    );
  });

test('nothing is missed of what the age of the stream would have removed by now', deadline, async (t) => {
  const bus = await busOf(t);
  bus.outbox.append(20);
  await bus.publish();
  await bus.lose();
  const inFortyDays = { ...systemClock, now: () => systemClock.now() + 40 * 24 * 60 * 60 * 1000 };
  const found = await refill({
    connection: { servers: [bus.server.url], name: 'test' },
    source: bus.outbox,
    subjectPrefixes: ['fleet.task.neo'],
    reader: 'neo_refill',
    clock: inFortyDays,
  });
  assert.deepEqual([found.acknowledged, found.missing], [20, 0]);
});

test(
  'the permissions of a profile suffice, and an older server without them does not stop it',
  deadline,
  async (t) => {
    const server = await startNatsServer(t, {
      users: [
        { user: 'setup', password: 'setup-password' },
        { user: 'neo', password: 'neo-password', permissions: busPermissions('neo') },
        {
          user: 'older',
          password: 'older-password',
          permissions: {
            publish: ['fleet.task.neo.>', '$JS.API.DIRECT.GET.FLEET.fleet.task.neo.>'],
            subscribe: ['_INBOX_neo.>'],
          },
        },
      ],
    });
    const as = (user: string) => ({
      servers: [server.url],
      name: user,
      user,
      pass: `${user}-password`,
      ...(user === 'setup' ? {} : { inboxPrefix: inboxPrefix('neo') }),
    });
    const setUp = () => setUpStreams({ connection: as('setup'), log: silentLog });
    await setUp();
    const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
    t.after(() => outbox.close());
    outbox.append(50);
    const common = { source: outbox, subjectPrefixes: ['fleet.task.neo'], clock: systemClock };
    const first = createOutboxPublisher({ ...common, connection: as('neo'), log: silentLog });
    assert.equal(await first.flush(20_000), true);
    await first.close();
    const admin = await connect({ servers: server.url, user: 'setup', pass: 'setup-password' });
    await (await admin.jetstreamManager()).streams.delete(STREAM);
    await admin.close();
    await setUp();

    const log = recordingLog();
    const older = createOutboxPublisher({ ...common, connection: as('older'), reader: 'neo', log });
    t.after(() => older.close());
    await log.saw(/NATS has the permissions of an older version; fleet keys init/);
    outbox.append(1);
    assert.equal(await older.flush(20_000), true);

    const now = createOutboxPublisher({ ...common, connection: as('neo'), reader: 'neo', log: silentLog });
    t.after(() => now.close());
    assert.equal(await until('a comparison', () => now.state().missing), 50);
    const done = await refill({ ...common, connection: as('neo'), reader: refillReader('neo') });
    assert.deepEqual([done.missing, done.published], [50, 50]);
  },
);
