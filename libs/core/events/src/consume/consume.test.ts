import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { type NatsServer, startNatsServer } from '../../testing/nats-server.ts';
import { openTestOutbox } from '../../testing/outbox.ts';
import { startProxy } from '../../testing/proxy.ts';
import { createOutboxPublisher } from '../outbox/outbox-publisher.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { type ConsumeOptions, consume } from './consume.ts';
import type { EventMeta } from './consumer-session.ts';

const deadline = { timeout: 60_000 };

async function busWithStream(t: TestContext): Promise<NatsServer> {
  const server = await startNatsServer(t);
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  return server;
}

function publisher(t: TestContext, url: string, profile = 'neo') {
  const outbox = openTestOutbox({ file: ':memory:', profile });
  const publisher = createOutboxPublisher({
    connection: { servers: [url], name: `${profile}/outbox` },
    source: outbox,
    subjectPrefixes: [`fleet.task.${profile}`],
    log: silentLog,
    clock: systemClock,
  });
  t.after(() => publisher.close());
  const publish = async (count: number): Promise<void> => {
    outbox.append(count);
    assert.equal(await publisher.flush(30_000), true);
  };
  return { outbox, publish };
}

/** A running consumer that collects ids; `until(n)` resolves with the first n. */
function collector(t: TestContext, url: string, options: Partial<ConsumeOptions> = {}) {
  const stop = new AbortController();
  const log = recordingLog();
  const ids: string[] = [];
  const metas: EventMeta[] = [];
  let check = (): void => {};
  const ended = consume({
    connection: { servers: [url], name: 'reader' },
    filter: 'fleet.task.>',
    signal: stop.signal,
    log,
    clock: systemClock,
    onEvent: (event, meta) => {
      ids.push(event.id);
      metas.push(meta);
      check();
    },
    ...options,
  });
  t.after(async () => {
    stop.abort();
    await ended.catch(() => {});
  });
  const until = (count: number): Promise<string[]> =>
    new Promise((resolve) => {
      check = () => ids.length >= count && resolve([...ids]);
      check();
    });
  const connected = log.saw(/event consumer: connected/);
  return { ids, metas, until, log, stop, ended, connected };
}

test('a reader gets stored events and then new ones, in order, with their sequences', deadline, async (t) => {
  const server = await busWithStream(t);
  const { outbox, publish } = publisher(t, server.url);
  await publish(600);
  const reader = collector(t, server.url, { fromStart: true });
  await reader.until(600);
  await publish(600);
  assert.deepEqual(await reader.until(1200), outbox.ids());
  const [{ created = '', storedAt = 0, ...first } = {}] = reader.metas;
  assert.deepEqual(first, { seq: 1, subject: outbox.read(0, 1)[0]?.subject, pending: 599 });
  assert.ok(Math.abs(Date.now() - storedAt) < 60_000, String(storedAt));
  assert.ok(Date.parse(created) > 0, created);
  reader.stop.abort();
  await reader.ended;
});

test('without fromStart a reader gets only events after its start', deadline, async (t) => {
  const server = await busWithStream(t);
  const { outbox, publish } = publisher(t, server.url);
  await publish(5);
  const reader = collector(t, server.url);
  await reader.connected;
  await publish(5);
  assert.deepEqual(await reader.until(5), outbox.ids().slice(5));
});

test('a filter excludes other subjects', deadline, async (t) => {
  const server = await busWithStream(t);
  const neo = publisher(t, server.url, 'neo');
  const morpheus = publisher(t, server.url, 'morpheus');
  const reader = collector(t, server.url, { fromStart: true, filter: 'fleet.task.morpheus.>' });
  await neo.publish(20);
  await morpheus.publish(20);
  assert.deepEqual(await reader.until(20), morpheus.outbox.ids());
});

test('a message that is not a CloudEvent of the fleet is logged and skipped', deadline, async (t) => {
  const server = await busWithStream(t);
  const { outbox, publish } = publisher(t, server.url);
  const nc = await connect({ servers: server.url });
  await nc.jetstream().publish('fleet.task.neo.done', 'not json');
  await nc.jetstream().publish('fleet.task.neo.done', JSON.stringify({ specversion: '1.0', id: 'x' }));
  await nc.close();
  await publish(1);
  const reader = collector(t, server.url, { fromStart: true });
  assert.deepEqual(await reader.until(1), outbox.ids());
  const skipped = reader.log.entries.filter(({ level }) => level === 'warn');
  assert.equal(skipped.length, 2);
  assert.match(JSON.stringify(skipped[1]?.fields), /"seq":2.*source/);
});

test('order and completeness survive a killed server', deadline, async (t) => {
  const server = await busWithStream(t);
  const { outbox, publish } = publisher(t, server.url);
  const reader = collector(t, server.url);
  await reader.connected;
  for (let round = 1; round <= 3; round += 1) {
    await publish(200);
    if (round === 2) await reader.until(400);
    await server.kill();
    outbox.append(100);
    await server.restart();
  }
  await publish(1);
  assert.deepEqual(await reader.until(901), outbox.ids());
});

test('a connection that ends during set-up is replaced', deadline, async (t) => {
  const server = await busWithStream(t);
  const proxy = await startProxy(t, server.url);
  const { outbox, publish } = publisher(t, server.url);
  await publish(10);
  const flushing = Promise.withResolvers<void>();
  let pulled = false;
  proxy.pass = ({ fromClient, line }) => {
    pulled ||= fromClient && line.includes('.CONSUMER.MSG.NEXT.');
    if (pulled && fromClient && line === 'PING') flushing.resolve();
    return !pulled || fromClient;
  };
  const reader = collector(t, proxy.url, { fromStart: true });
  await flushing.promise;
  await server.kill();
  proxy.pass = () => true;
  await server.restart();
  assert.deepEqual(await reader.until(10), outbox.ids());
});

test('a message lost in transit is detected and read again', deadline, async (t) => {
  const server = await busWithStream(t);
  const proxy = await startProxy(t, server.url);
  const { outbox, publish } = publisher(t, server.url);
  await publish(300);
  let lost = 0;
  proxy.pass = ({ fromClient, text }) => {
    const lose = lost === 0 && !fromClient && /"id":"neo:\S+:150"/.test(text);
    if (lose) lost += 1;
    return !lose;
  };
  const reader = collector(t, proxy.url, { fromStart: true });
  assert.deepEqual(await reader.until(300), outbox.ids());
  assert.equal(lost, 1);
});

test('a consumer that was deleted on the server is recreated', deadline, async (t) => {
  const server = await busWithStream(t);
  const { outbox, publish } = publisher(t, server.url);
  const reader = collector(t, server.url);
  await reader.connected;
  await publish(5);
  await reader.until(5);
  const nc = await connect({ servers: server.url });
  const jsm = await nc.jetstreamManager();
  for await (const { name } of jsm.consumers.list('FLEET')) await jsm.consumers.delete('FLEET', name);
  await nc.close();
  await reader.log.saw(/interrupted/);
  await publish(5);
  assert.deepEqual(await reader.until(10), outbox.ids());
});

test('a recreated stream is read from its start', deadline, async (t) => {
  const server = await busWithStream(t);
  const old = publisher(t, server.url);
  const reader = collector(t, server.url);
  await reader.connected;
  await old.publish(50);
  await reader.until(50);
  const nc = await connect({ servers: server.url });
  await (await nc.jetstreamManager()).streams.delete('FLEET');
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  await nc.close();
  const next = publisher(t, server.url, 'morpheus');
  await next.publish(60);
  assert.deepEqual(await reader.until(110), [...old.outbox.ids(), ...next.outbox.ids()]);
});

test('an error of onEvent ends the consumer and rejects consume', deadline, async (t) => {
  const server = await busWithStream(t);
  const { publish } = publisher(t, server.url);
  await publish(3);
  const { ended } = collector(t, server.url, {
    fromStart: true,
    onEvent: () => {
      throw new Error('no more');
    },
  });
  await assert.rejects(ended, /no more/);
});

test('consume waits for a broker that is down until the signal aborts', deadline, async (t) => {
  const server = await busWithStream(t);
  await server.kill();
  const reader = collector(t, server.url);
  await reader.log.saw(/interrupted/);
  reader.stop.abort();
  await reader.ended;
});
