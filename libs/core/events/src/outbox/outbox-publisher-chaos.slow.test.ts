import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { startNatsServer } from '../../testing/nats-server.ts';
import { storedIds } from '../../testing/observe.ts';
import { openTestOutbox, type TestOutbox } from '../../testing/outbox.ts';
import { type Frame, startProxy } from '../../testing/proxy.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { STREAM } from '../streams/subjects.ts';
import { createOutboxPublisher, type OutboxPublisherOptions } from './outbox-publisher.ts';

const deadline = { timeout: 120_000 };

async function busWithStream(t: TestContext) {
  const server = await startNatsServer(t);
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  return server;
}

function publisherFor(
  t: TestContext,
  url: string,
  source: TestOutbox,
  options: Partial<OutboxPublisherOptions> = {},
) {
  const profile = options.subjectPrefixes?.[0] ?? 'fleet.task.neo';
  const publisher = createOutboxPublisher({
    connection: { servers: [url], name: profile },
    source,
    subjectPrefixes: ['fleet.task.neo'],
    log: silentLog,
    clock: systemClock,
    ...options,
  });
  t.after(() => publisher.close());
  return publisher;
}

/** Appends a few events at short intervals until it is stopped. */
function writeUnderLoad(outbox: TestOutbox, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const tick = (): void => {
    if (signal.aborted) {
      ended.resolve();
      return;
    }
    outbox.append(5);
    setTimeout(tick, 2);
  };
  tick();
  return ended.promise;
}

test('repeated SIGKILLs of a loaded server lose, reorder and duplicate nothing', deadline, async (t) => {
  const server = await busWithStream(t);
  const profiles = ['neo', 'morpheus'];
  const stop = new AbortController();
  const fleet = profiles.map((profile) => {
    const outbox = openTestOutbox({ file: ':memory:', profile });
    const writing = writeUnderLoad(outbox, stop.signal);
    const results = { ok: 0, error: 0 };
    const progress = { wanted: 0, reached: Promise.withResolvers<void>() };
    const publisher = publisherFor(t, server.url, outbox, {
      subjectPrefixes: [`fleet.task.${profile}`],
      onPublished: (result) => {
        results[result] += 1;
        if (results.ok >= progress.wanted) progress.reached.resolve();
      },
    });
    const more = (count: number): Promise<void> => {
      progress.wanted = results.ok + count;
      progress.reached = Promise.withResolvers<void>();
      return progress.reached.promise;
    };
    return { profile, outbox, publisher, writing, more, results };
  });
  for (const outageMs of [0, 10, 2_500, 0, 200]) {
    await Promise.all(fleet.map(({ more }) => more(300)));
    await server.kill();
    await systemClock.sleep(outageMs);
    await server.restart();
  }
  await Promise.all(fleet.map(({ more }) => more(300)));
  stop.abort();
  for (const { profile, outbox, publisher, writing, results } of fleet) {
    await writing;
    assert.equal(await publisher.flush(60_000), true);
    const stored = await storedIds(server.url, `fleet.task.${profile}.>`);
    assert.deepEqual(stored, outbox.ids());
    t.diagnostic(`${profile}: ${stored.length} events, ${results.error} attempts without an acknowledgement`);
  }
});

const isAck = ({ fromClient, text }: Frame): boolean => !fromClient && text.includes('"stream":"FLEET"');

test('lost acknowledgements, single or all at once, change nothing in the stream', deadline, async (t) => {
  const server = await busWithStream(t);
  const proxy = await startProxy(t, server.url);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(1000);
  let acks = 0;
  let lost = 0;
  proxy.pass = (frame) => {
    if (!isAck(frame)) return true;
    acks += 1;
    const mute = acks === 100 || acks === 101 || (acks > 400 && acks < 480);
    if (mute) lost += 1;
    return !mute;
  };
  const results = { ok: 0, error: 0 };
  const publisher = publisherFor(t, proxy.url, outbox, {
    ackTimeoutMs: 300,
    onPublished: (result) => (results[result] += 1),
  });
  assert.equal(await publisher.flush(60_000), true);
  assert.ok(lost >= 66);
  assert.ok(results.error > 0);
  assert.ok(proxy.connections() >= 3 * 2);
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test('a stored event is not resent once the server has forgotten its id', deadline, async (t) => {
  const server = await busWithStream(t);
  const proxy = await startProxy(t, server.url);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(200);
  const copies = new Map<string, number>();
  let acks = 0;
  let late = false;
  proxy.pass = (frame) => {
    const id = /^HPUB [\s\S]*Nats-Msg-Id: (\S+)\r\n/.exec(frame.text)?.[1];
    if (frame.fromClient && id !== undefined) copies.set(id, (copies.get(id) ?? 0) + 1);
    if (isAck(frame)) acks += 1;
    if (isAck(frame) && acks > 30 && !late) return false;
    return true;
  };
  const threeHoursMs = 3 * 60 * 60 * 1000;
  const publisher = publisherFor(t, proxy.url, outbox, {
    ackTimeoutMs: 300,
    clock: { ...systemClock, now: () => systemClock.now() + threeHoursMs },
    onPublished: (result) => {
      if (result === 'error') late = true;
    },
  });
  assert.equal(await publisher.flush(30_000), true);
  assert.ok(late);
  assert.deepEqual([...copies.keys()], outbox.ids());
  assert.deepEqual(new Set(copies.values()), new Set([1]));
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test('a copy of the stream that lags does not make a publisher store events twice', deadline, async (t) => {
  const server = await busWithStream(t);
  const admin = await connect({ servers: server.url });
  t.after(() => admin.close());
  const jsm = await admin.jetstreamManager();
  // The server forgets ids at once, as it does after two hours.
  const { config } = await jsm.streams.info(STREAM);
  await jsm.streams.update(STREAM, { ...config, duplicate_window: 100_000_000 });
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(20);
  for (const { subject, event } of outbox.read(0, 20))
    await admin.jetstream().publish(subject, JSON.stringify(event), { msgID: event.id });
  await systemClock.sleep(300);
  const proxy = await startProxy(t, server.url);
  let stale = 0;
  proxy.pass = ({ fromClient, line, text }) => {
    if (fromClient || stale === 6 || !text.includes('Nats-Sequence')) return true;
    stale += 1;
    const [, subject, sid] = line.split(' ');
    const status = 'NATS/1.0 404 Message Not Found\r\n\r\n';
    return `HMSG ${subject} ${sid} ${status.length} ${status.length}\r\n${status}\r\n`;
  };
  const threeHoursMs = 3 * 60 * 60 * 1000;
  const publisher = publisherFor(t, proxy.url, outbox, {
    clock: { ...systemClock, now: () => systemClock.now() + threeHoursMs },
  });
  assert.equal(await publisher.flush(30_000), true);
  assert.equal(stale, 6);
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test(
  'an event that the server never received is not lost although later ones were stored',
  deadline,
  async (t) => {
    const server = await busWithStream(t);
    const proxy = await startProxy(t, server.url);
    const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
    outbox.append(100);
    let dropped = 0;
    proxy.pass = ({ fromClient, text }) => {
      const lose = dropped === 0 && fromClient && /Nats-Msg-Id: neo:\S+:10\r\n/.test(text);
      if (lose) dropped += 1;
      return !lose;
    };
    const publisher = publisherFor(t, proxy.url, outbox, { ackTimeoutMs: 300 });
    assert.equal(await publisher.flush(60_000), true);
    assert.equal(dropped, 1);
    assert.deepEqual((await storedIds(server.url)).sort(), outbox.ids().sort());
  },
);

test('a connection that goes silent in both directions is replaced', deadline, async (t) => {
  const server = await busWithStream(t);
  const proxy = await startProxy(t, server.url);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(50);
  const publisher = publisherFor(t, proxy.url, outbox, { ackTimeoutMs: 300 });
  assert.equal(await publisher.flush(30_000), true);
  const before = proxy.connections();
  proxy.pass = () => proxy.connections() > before;
  outbox.append(50);
  assert.equal(await publisher.flush(30_000), true);
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test('a frozen server loses nothing', deadline, async (t) => {
  const server = await busWithStream(t);
  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  const log = recordingLog();
  const publisher = publisherFor(t, server.url, outbox, { ackTimeoutMs: 300, log });
  outbox.append(200);
  assert.equal(await publisher.flush(30_000), true);
  const pid = server.pid();
  assert.ok(pid !== undefined);
  process.kill(pid, 'SIGSTOP');
  outbox.append(200);
  await log.saw(/interrupted/);
  process.kill(pid, 'SIGCONT');
  assert.equal(await publisher.flush(60_000), true);
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});

test('a publisher process that is killed and restarted loses and reorders nothing', deadline, async (t) => {
  const server = await busWithStream(t);
  const dir = tempDir(t);
  const file = join(dir, 'outbox.sqlite');
  const total = 3000;
  const run = async (killAfter: number): Promise<string> => {
    const main = fileURLToPath(new URL('../../testing/publisher-process.ts', import.meta.url));
    const args = [main, '--url', server.url, '--file', file, '--total', String(total)];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    let acknowledged = 0;
    let last = '';
    for await (const line of createInterface({ input: child.stdout })) {
      last = line;
      if (line === 'ok') acknowledged += 1;
      if (acknowledged === killAfter) child.kill('SIGKILL');
    }
    await exited;
    return last;
  };
  for (const killAfter of [1, 130, 517]) assert.equal(await run(killAfter), 'ok');
  assert.equal(await run(Number.POSITIVE_INFINITY), 'done');
  const outbox = openTestOutbox({ file, profile: 'neo' });
  t.after(() => outbox.close());
  assert.equal(outbox.size(), total);
  assert.deepEqual(await storedIds(server.url), outbox.ids());
});
