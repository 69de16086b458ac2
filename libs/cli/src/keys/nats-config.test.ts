import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import {
  ANNOUNCE_STREAM,
  AUDIT_STREAM,
  type BusConnection,
  consume,
  createOutboxPublisher,
  forgetHead,
  STREAM,
  setUpStreams,
  startAnnounceBus,
  startHeadPublisher,
} from '@hermes-fleet/events';
import { openConnection } from '@hermes-fleet/events/testing';
import { FleetError } from '@hermes-fleet/protocol';
import { type OutboxEvent, type OutboxSource, systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog as log } from '@hermes-fleet/protocol/testing';
import { startKeyedBus } from '../../testing/keyed-bus.ts';

const skip = spawnSync('nats-server', ['--version']).error ? 'nats-server is not installed' : false;

/** An outbox with one event. */
function outboxOf(profile: string, subject = `fleet.task.${profile}.done`): OutboxSource {
  const event: OutboxEvent = {
    seq: 1,
    subject,
    event: {
      specversion: '1.0',
      id: `${profile}:1:1`,
      source: `/profiles/${profile}`,
      type: 'dev.hermes-fleet.task.done.v1',
      subject: 'task',
      time: new Date().toISOString(),
      datacontenttype: 'application/json',
      data: {},
    },
  };
  let cursor = 0;
  return {
    read: (afterSeq) => (afterSeq < event.seq ? [event] : []),
    cursor: () => cursor,
    advance: async (seq) => {
      cursor = seq;
    },
    wait: (afterSeq, signal) =>
      new Promise((resolve, reject) => {
        if (afterSeq < event.seq) resolve();
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
    backlog: () => ({ count: event.seq - cursor, oldestAgeMs: 0 }),
  };
}

test('the setup user creates the streams, the services publish to them, and the operator reads all', {
  skip,
}, async (t) => {
  const as = await startKeyedBus(t);
  for (const wanted of ['created', 'unchanged']) {
    const { outcomes } = await setUpStreams({ connection: as('setup'), log });
    assert.deepEqual(Object.values(outcomes), [wanted, wanted, wanted]);
  }

  const relay = createOutboxPublisher({
    connection: as('neo'),
    source: outboxOf('neo'),
    subjectPrefixes: ['fleet.task.neo'],
    log,
    clock: systemClock,
  });
  t.after(() => relay.close());
  assert.equal(await relay.flush(20_000), true);

  const announces = startAnnounceBus({ connection: as('neo'), profile: 'neo', clock: systemClock, log });
  t.after(() => announces.close());
  announces.publish({ announce: {}, instanceId: '1', seq: 1, at: 0 });
  assert.equal(await announces.flush(20_000), true);

  const control = createOutboxPublisher({
    connection: as('trader'),
    source: outboxOf('trader', 'fleet.control.account.market'),
    subjectPrefixes: ['fleet.control', 'fleet.trade'],
    log,
    clock: systemClock,
  });
  t.after(() => control.close());
  assert.equal(await control.flush(20_000), true);
  const heads = startHeadPublisher({
    connection: as('trader'),
    service: 'trader',
    clock: systemClock,
    log,
    head: () => ({ store: '1', seq: 1, hash: '0'.repeat(64) }),
    check: async () => undefined,
  });
  t.after(() => heads.close());
  assert.equal(await heads.flush(20_000), true);

  const operator = as('operator');
  assert.equal(await first(operator, 'fleet.control.>'), 'fleet.control.account.market');
  assert.equal(await first(operator, 'fleet.audit.>'), 'fleet.audit.trader');
  assert.equal(await first(operator, 'fleet.task.>'), 'fleet.task.neo.done');
  assert.equal(await first(operator, 'fleet.announce.>'), 'fleet.announce.neo');
});

/** The subject of the first event that a reader receives. */
async function first(connection: BusConnection, filter: string): Promise<string | undefined> {
  const seen = new AbortController();
  let found: string | undefined;
  await consume({
    connection,
    log,
    clock: systemClock,
    filter,
    fromStart: true,
    signal: AbortSignal.any([seen.signal, AbortSignal.timeout(20_000)]),
    onEvent: (_event, { subject }) => {
      found = subject;
      seen.abort();
    },
  });
  return found;
}

test('the setup user splits a stream that has all subjects, and may not purge, delete or read', {
  skip,
}, async (t) => {
  const as = await startKeyedBus(t);
  const nc = await openConnection(as('setup'), t.signal);
  t.after(() => nc.close());
  const jsm = await nc.jetstreamManager();
  await jsm.streams.add({ name: STREAM, subjects: ['fleet.task.>', 'fleet.announce.>', 'fleet.audit.>'] });
  const { outcomes } = await setUpStreams({ connection: as('setup'), log });
  assert.deepEqual(Object.values(outcomes), ['updated', 'created', 'created']);
  for (const stream of [STREAM, ANNOUNCE_STREAM, AUDIT_STREAM]) {
    if (stream !== AUDIT_STREAM)
      await assert.rejects(jsm.streams.purge(stream), { code: 'PERMISSIONS_VIOLATION' });
    await assert.rejects(jsm.streams.delete(stream), { code: 'PERMISSIONS_VIOLATION' });
    await assert.rejects(jsm.streams.getMessage(stream, { seq: 1 }), { code: 'PERMISSIONS_VIOLATION' });
  }
});

test('the setup user removes an audit head and may not publish', { skip }, async (t) => {
  const as = await startKeyedBus(t);
  await setUpStreams({ connection: as('setup'), log });
  const head = { store: '1', seq: 7, hash: '0'.repeat(64) };
  const heads = startHeadPublisher({
    connection: as('trader'),
    service: 'trader',
    clock: systemClock,
    log,
    head: () => head,
    check: async () => undefined,
  });
  t.after(() => heads.close());
  assert.equal(await heads.flush(20_000), true);
  await heads.close();
  const found: unknown[] = [];
  const forget = (user: string) =>
    forgetHead({
      connection: as(user),
      service: 'trader',
      timeoutMs: 10_000,
      onFound: (it) => void found.push(it.head),
    });
  for (const user of ['trader', 'neo', 'operator'])
    await assert.rejects(forget(user), { code: 'CONFIG_INVALID' }, user);
  found.length = 0;
  assert.deepEqual([await forget('setup'), found], ['forgotten', [head]]);
  assert.equal(await forget('setup'), 'none');
  const nc = await openConnection(as('setup'), t.signal);
  t.after(() => nc.close());
  for (const subject of ['fleet.audit.trader', 'fleet.control.a.m', 'fleet.task.neo.done'])
    await assert.rejects(nc.request(subject, '{}', { timeout: 10_000 }), { code: 'PERMISSIONS_VIOLATION' });
});

test('the operator may not change a stream or publish', { skip }, async (t) => {
  const as = await startKeyedBus(t);
  await setUpStreams({ connection: as('setup'), log });
  const nc = await openConnection(as('operator'), t.signal);
  t.after(() => nc.close());
  const jsm = await nc.jetstreamManager();
  for (const stream of [STREAM, ANNOUNCE_STREAM, AUDIT_STREAM]) {
    assert.equal((await jsm.streams.info(stream)).config.name, stream);
    await assert.rejects(jsm.streams.purge(stream), { code: 'PERMISSIONS_VIOLATION' });
    await assert.rejects(jsm.streams.update(stream, { max_age: 0 }), { code: 'PERMISSIONS_VIOLATION' });
  }
  for (const subject of [
    'fleet.task.neo.done',
    'fleet.announce.neo',
    'fleet.control.a.m',
    'fleet.audit.trader',
  ])
    await assert.rejects(nc.request(subject, '{}', { timeout: 10_000 }), { code: 'PERMISSIONS_VIOLATION' });
});

test('a profile may not create or change the streams', { skip }, async (t) => {
  const as = await startKeyedBus(t);
  await assert.rejects(
    setUpStreams({ connection: as('neo'), log }),
    (error: unknown) => error instanceof FleetError,
  );
});

test('a profile may publish neither decisions and trades nor the events of another', { skip }, async (t) => {
  const as = await startKeyedBus(t);
  await setUpStreams({ connection: as('setup'), log });
  const nc = await openConnection(as('neo'), t.signal);
  t.after(() => nc.close());
  await nc.request('fleet.task.neo.done', '{}', { timeout: 10_000 });
  for (const subject of [
    'fleet.control.a.m',
    'fleet.trade.a.m',
    'fleet.audit.trader',
    'fleet.task.trinity.done',
    'fleet.announce.trinity',
  ])
    await assert.rejects(nc.request(subject, '{}', { timeout: 10_000 }), { code: 'PERMISSIONS_VIOLATION' });
});
