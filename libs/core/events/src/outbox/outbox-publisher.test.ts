import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { type RecordingLog, recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { startNatsServer } from '../../testing/nats-server.ts';
import { storedIds } from '../../testing/observe.ts';
import { openTestOutbox, type TestOutbox } from '../../testing/outbox.ts';
import { startProxy } from '../../testing/proxy.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { createOutboxPublisher, type OutboxPublisherOptions } from './outbox-publisher.ts';

type After = { after(fn: () => Promise<void>): void };

function publisherFor(
  t: After,
  url: string,
  source: TestOutbox,
  options: Partial<OutboxPublisherOptions> = {},
): { publisher: ReturnType<typeof createOutboxPublisher>; log: RecordingLog } {
  const log = recordingLog();
  const publisher = createOutboxPublisher({
    connection: { servers: [url], name: 'neo/outbox' },
    source,
    subjectPrefixes: ['fleet.task.neo'],
    log,
    clock: systemClock,
    ...options,
  });
  t.after(() => publisher.close());
  return { publisher, log };
}

const memoryOutbox = (ledger?: string): TestOutbox =>
  openTestOutbox({ file: ':memory:', profile: 'neo', ...(ledger === undefined ? {} : { ledger }) });

async function busWithStream(t: After) {
  const server = await startNatsServer(t);
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  return server;
}

const deadline = { timeout: 60_000 };

test('stored and new events are published once, in order, and the cursor advances', deadline, async (t) => {
  const server = await busWithStream(t);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo', hole: (seq) => seq % 3 === 0 });
  outbox.append(500);
  let published = 0;
  const { publisher, log } = publisherFor(t, server.url, outbox, { onPublished: () => (published += 1) });
  outbox.append(500);
  assert.equal(await publisher.flush(30_000), true);
  outbox.append(1);
  assert.equal(await publisher.flush(30_000), true);
  assert.deepEqual(publisher.state(), { connected: true, lastError: undefined });
  assert.deepEqual(await storedIds(server.url), outbox.ids());
  assert.equal(published, 1001);
  assert.equal(outbox.backlog().count, 0);
  assert.deepEqual(
    log.entries.map((entry) => entry.message),
    ['outbox publisher: connected to the event bus'],
  );
});

test('an event carries its id as Nats-Msg-Id and is a CloudEvent', deadline, async (t) => {
  const server = await busWithStream(t);
  const outbox = memoryOutbox();
  outbox.append(1);
  const { publisher } = publisherFor(t, server.url, outbox);
  assert.equal(await publisher.flush(30_000), true);
  const nc = await connect({ servers: server.url });
  const stored = await (await nc.jetstreamManager()).streams.getMessage('FLEET', { seq: 1 });
  await nc.close();
  assert.equal(stored.header.get('Nats-Msg-Id'), outbox.ids()[0]);
  assert.deepEqual(stored.json(), outbox.read(0, 1)[0]?.event);
  assert.equal(stored.subject, outbox.read(0, 1)[0]?.subject);
});

test('a broker that is down causes a backlog and one log line', deadline, async (t) => {
  const server = await busWithStream(t);
  await server.kill();
  const outbox = memoryOutbox();
  outbox.append(10);
  let attempts = 0;
  const { publisher, log } = publisherFor(t, server.url, outbox, {
    random: () => {
      attempts += 1;
      if (attempts === 4) retried.resolve();
      return 0;
    },
  });
  const retried = Promise.withResolvers<void>();
  await retried.promise;
  assert.equal(publisher.state().connected, false);
  assert.match(publisher.state().lastError ?? '', /cannot be reached \(ECONNREFUSED\)/);
  assert.equal(await publisher.flush(10), false);
  assert.equal(outbox.backlog().count, 10);
  await server.restart();
  assert.equal(await publisher.flush(30_000), true);
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ['warn', 'info'],
  );
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test('the publisher waits for a stream that is not set up yet', deadline, async (t) => {
  const server = await startNatsServer(t);
  const outbox = memoryOutbox();
  outbox.append(3);
  const { publisher, log } = publisherFor(t, server.url, outbox);
  await log.saw(/interrupted/);
  assert.match(publisher.state().lastError ?? '', /FLEET does not answer: is it set up/);
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  assert.equal(await publisher.flush(30_000), true);
});

test('the window limits the events in flight', deadline, async (t) => {
  const server = await busWithStream(t);
  const proxy = await startProxy(t, server.url);
  const outbox = memoryOutbox();
  outbox.append(300);
  let inFlight = 0;
  let most = 0;
  proxy.pass = ({ fromClient, line, text }) => {
    if (fromClient && line.startsWith('HPUB fleet.task.neo.')) inFlight += 1;
    if (!fromClient && text.includes('"stream":"FLEET"')) inFlight -= 1;
    most = Math.max(most, inFlight);
    return true;
  };
  const { publisher } = publisherFor(t, proxy.url, outbox, { window: 8 });
  assert.equal(await publisher.flush(30_000), true);
  assert.equal(most, 8);
});

test("a recreated ledger ignores its predecessor's events in the stream", deadline, async (t) => {
  const server = await busWithStream(t);
  const before = memoryOutbox('0197a000-0000-7000-8000-00000000000a');
  before.append(20);
  const first = publisherFor(t, server.url, before);
  assert.equal(await first.publisher.flush(30_000), true);
  await first.publisher.close();
  const after = memoryOutbox('0197a000-0000-7000-8000-00000000000b');
  after.append(5);
  const { publisher } = publisherFor(t, server.url, after);
  assert.equal(await publisher.flush(30_000), true);
  assert.deepEqual(await storedIds(server.url), [...before.ids(), ...after.ids()]);
});

test('a ledger that was restored to an older state is reported', deadline, async (t) => {
  const server = await busWithStream(t);
  const whole = memoryOutbox();
  whole.append(20);
  const first = publisherFor(t, server.url, whole);
  assert.equal(await first.publisher.flush(30_000), true);
  await first.publisher.close();
  const restored = memoryOutbox();
  restored.append(5);
  const { publisher, log } = publisherFor(t, server.url, restored);
  const entry = await log.saw(/restored to an older state/);
  assert.equal(entry.level, 'error');
  assert.equal(await publisher.flush(30_000), true);
});

test(
  'an event too large for the server blocks the publisher, and the error says what to do',
  deadline,
  async (t) => {
    const server = await busWithStream(t);
    const outbox = openTestOutbox({
      file: ':memory:',
      profile: 'neo',
      bodyBytes: (seq) => (seq === 3 ? 1_100_000 : 10),
    });
    outbox.append(5);
    const { publisher, log } = publisherFor(t, server.url, outbox);
    await log.saw(/interrupted/);
    assert.match(publisher.state().lastError ?? '', /:3 has 11\d{5} bytes.*raise its max_payload/);
    assert.ok(outbox.backlog().count >= 3);
  },
);

test('a store that cannot advance its cursor stops the publisher until it can', deadline, async (t) => {
  const server = await busWithStream(t);
  const outbox = memoryOutbox();
  outbox.append(10);
  let full = true;
  const source = {
    ...outbox,
    advance: (seq: number) => (full ? Promise.reject(new Error('disk full')) : outbox.advance(seq)),
  };
  const { publisher, log } = publisherFor(t, server.url, source);
  await log.saw(/interrupted/);
  assert.match(publisher.state().lastError ?? '', /disk full/);
  full = false;
  assert.equal(await publisher.flush(30_000), true);
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test('close ends a publisher that waits for a broker, and its pending flush', deadline, async (t) => {
  const server = await startNatsServer(t);
  await server.kill();
  const outbox = memoryOutbox();
  outbox.append(1);
  const { publisher } = publisherFor(t, server.url, outbox);
  const flushed = publisher.flush(600_000);
  await publisher.close();
  assert.equal(await flushed, false);
  await publisher.close();
});
