import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import {
  ANNOUNCE_STREAM,
  AUDIT_STREAM,
  type BusConnection,
  consume,
  consumerOf,
  STREAM,
  setUpStreams,
  startAnnounceBus,
} from '@hermes-fleet/events';
import { openConnection } from '@hermes-fleet/events/testing';
import { systemClock as clock } from '@hermes-fleet/protocol/ports';
import { silentLog as log } from '@hermes-fleet/protocol/testing';
import { startKeyedBus } from '../../testing/keyed-bus.ts';

const skip = spawnSync('nats-server', ['--version']).error ? 'nats-server is not installed' : false;

const FILTERS = {
  'fleet.task.>': STREAM,
  'fleet.control.>': STREAM,
  'fleet.announce.>': ANNOUNCE_STREAM,
  'fleet.audit.>': AUDIT_STREAM,
};
const REFUSED = { code: 'PERMISSIONS_VIOLATION' };

/** A bus with the streams, and an announce of neo. */
async function busWithAnnounce(t: TestContext): Promise<(user: string) => BusConnection> {
  const as = await startKeyedBus(t);
  await setUpStreams({ connection: as('setup'), log });
  const announces = startAnnounceBus({ connection: as('neo'), profile: 'neo', clock, log });
  t.after(() => announces.close());
  announces.publish({ announce: {}, instanceId: '1', seq: 1, at: 0 });
  assert.equal(await announces.flush(20_000), true);
  return as;
}

test('the console reads each topic from its start, again and again, through a consumer of its own', {
  skip,
}, async (t) => {
  const as = await busWithAnnounce(t);
  for (const _ of ['first', 'again']) {
    const seen: string[] = [];
    for (const filter of Object.keys(FILTERS)) {
      await consume({
        connection: as('console'),
        log,
        clock,
        filter,
        name: consumerOf('console', filter),
        fromStart: true,
        untilEnd: true,
        signal: AbortSignal.timeout(20_000),
        onEvent: (_event, { subject }) => void seen.push(subject),
      });
    }
    assert.deepEqual(seen, ['fleet.announce.neo']);
  }
});

test('the console may not publish, change a stream or read a single message', { skip }, async (t) => {
  const as = await busWithAnnounce(t);
  const nc = await openConnection(as('console'), t.signal);
  t.after(() => nc.close());
  const subjects = [
    ...['fleet.task.neo.done', 'fleet.announce.neo', 'fleet.control.a.m', 'fleet.audit.trader'],
    ...['fleet.task.console.done', 'fleet.announce.console', 'anything'],
  ];
  for (const subject of subjects)
    await assert.rejects(nc.request(subject, '{}', { timeout: 10_000 }), REFUSED, subject);

  const jsm = await nc.jetstreamManager({ checkAPI: false });
  await assert.rejects(jsm.getAccountInfo(), REFUSED);
  await assert.rejects(jsm.streams.add({ name: 'OTHER', subjects: ['other.>'] }), REFUSED);
  await assert.rejects(jsm.streams.names().next(), REFUSED);
  for (const stream of [STREAM, ANNOUNCE_STREAM, AUDIT_STREAM]) {
    assert.equal((await jsm.streams.info(stream)).config.name, stream);
    await assert.rejects(jsm.streams.purge(stream), REFUSED);
    await assert.rejects(jsm.streams.update(stream, { max_age: 0 }), REFUSED);
    await assert.rejects(jsm.streams.delete(stream), REFUSED);
    await assert.rejects(jsm.streams.deleteMessage(stream, 1), REFUSED);
    await assert.rejects(jsm.streams.getMessage(stream, { seq: 1 }), REFUSED);
    const direct = `$JS.API.DIRECT.GET.${stream}`;
    await assert.rejects(nc.request(direct, '{"seq": 1}', { timeout: 10_000 }), REFUSED);
  }
  for (const subject of ['fleet.announce.>', '_INBOX_neo.>', '$JS.>', '>']) {
    const [refused] = await Promise.all([
      new Promise((resolve) => nc.subscribe(subject, { callback: (error) => resolve(error) })),
      nc.flush(),
    ]);
    assert.equal((refused as { code?: string } | null)?.code, REFUSED.code, subject);
  }
});

test('the console reaches no consumer of others, and creates none of another name or filter', {
  skip,
}, async (t) => {
  const as = await busWithAnnounce(t);
  const operator = await openConnection(as('operator'), t.signal);
  t.after(() => operator.close());
  const theirs = await operator.jetstreamManager();
  const nc = await openConnection(as('console'), t.signal);
  t.after(() => nc.close());
  const jsm = await nc.jetstreamManager({ checkAPI: false });
  for (const [filter, stream] of Object.entries(FILTERS)) {
    await theirs.consumers.add(stream, { durable_name: 'kept', filter_subject: filter });
    await assert.rejects(jsm.consumers.info(stream, 'kept'), REFUSED);
    await assert.rejects(jsm.consumers.delete(stream, 'kept'), REFUSED);
    await assert.rejects(jsm.consumers.list(stream).next(), REFUSED);
    const pull = `$JS.API.CONSUMER.MSG.NEXT.${stream}.kept`;
    await assert.rejects(nc.request(pull, '{"batch": 1}', { timeout: 10_000 }), REFUSED);
    await assert.rejects(
      nc.request(`$JS.ACK.${stream}.kept.1.1.1.1.0`, '+ACK', { timeout: 10_000 }),
      REFUSED,
    );
    const name = consumerOf('console', filter);
    const created = [
      { filter_subject: filter },
      { name: 'other', filter_subject: filter },
      { name, filter_subject: 'fleet.*.neo' },
      { name },
    ];
    for (const config of created)
      await assert.rejects(jsm.consumers.add(stream, config), REFUSED, JSON.stringify(config));
    assert.equal((await theirs.consumers.info(stream, 'kept')).name, 'kept');
    await theirs.consumers.delete(stream, 'kept');
  }
});

test('an event that the console has delivered under another subject keeps its own', { skip }, async (t) => {
  const as = await busWithAnnounce(t);
  const nc = await openConnection(as('console'), t.signal);
  t.after(() => nc.close());
  const [trader, neo] = [
    await openConnection(as('trader'), t.signal),
    await openConnection(as('neo'), t.signal),
  ];
  t.after(() => Promise.all([trader.close(), neo.close()]));
  await neo.request('fleet.task.neo.done', '{}', { timeout: 10_000 });
  const received = new Promise((resolve) =>
    trader.subscribe('fleet.announce.>', { callback: (_error, message) => resolve(message.subject) }),
  );
  await trader.flush();
  const config = { name: 'console-task', filter_subject: 'fleet.task.>', ack_policy: 'none' };
  await nc.request(
    `$JS.API.CONSUMER.CREATE.${STREAM}.console-task.fleet.task.>`,
    JSON.stringify({ stream_name: STREAM, config }),
    { timeout: 10_000 },
  );
  const reply = 'fleet.announce.trader';
  nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${STREAM}.console-task`, '{"batch": 1}', { reply });
  assert.equal(await received, 'fleet.task.neo.done');
});
