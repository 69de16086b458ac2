import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import {
  consume,
  createOutboxPublisher,
  renderNatsConfig,
  setUpStreams,
  supportsSyncInterval,
} from '@hermes-fleet/events';
import { type OutboxEvent, type OutboxSource, systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog as log } from '@hermes-fleet/protocol/testing';
import { withoutEngine } from '../support/engine.ts';
import { until } from '../support/fleet.ts';

const IMAGE = process.env.NATS_IMAGE ?? 'nats:2.10-alpine';
const CONFIG = '/etc/nats/fleet.conf';

/** An outbox in memory. */
function openOutbox(): OutboxSource & { append(count: number): void; ids(): string[] } {
  const events: OutboxEvent[] = [];
  let cursor = 0;
  let news = Promise.withResolvers<void>();
  return {
    append: (count) => {
      for (let last = events.length + count; events.length < last; ) {
        const seq = events.length + 1;
        const event = {
          specversion: '1.0' as const,
          id: `neo:0197a000-0000-7000-8000-000000000001:${seq}`,
          source: '/profiles/neo',
          type: 'dev.hermes-fleet.task.progress.v1',
          subject: 'task',
          time: new Date(0).toISOString(),
          datacontenttype: 'application/json' as const,
          data: { seq },
        };
        events.push({ seq, subject: 'fleet.task.neo.progress', event });
      }
      news.resolve();
      news = Promise.withResolvers();
    },
    ids: () => events.map(({ event }) => event.id),
    read: (after, limit) => events.slice(after, after + limit),
    cursor: () => cursor,
    advance: async (seq) => {
      cursor = seq;
    },
    wait: async (after, signal) => {
      const aborted = Promise.withResolvers<never>();
      const abort = (): void => aborted.reject(signal.reason);
      signal.throwIfAborted();
      signal.addEventListener('abort', abort, { once: true });
      try {
        while (events.length <= after) await Promise.race([news.promise, aborted.promise]);
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
    backlog: () => ({ count: events.length - cursor, oldestAgeMs: 0 }),
  };
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });

test('kill -9 of NATS in a container: the relay loses, repeats and reorders nothing', {
  skip: withoutEngine(),
  timeout: 120_000,
}, async (t) => {
  // The reaper is an image of its own, which is not needed where every container is removed by its test.
  process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers');
  const settings = { storeDir: '/tmp/jetstream', host: '0.0.0.0', port: 4222, syncAlways: true, users: [] };
  const port = await freePort();
  const started = await new GenericContainer(IMAGE)
    .withCopyContentToContainer([{ content: renderNatsConfig(settings), target: CONFIG }])
    .withCommand(['--config', CONFIG])
    .withExposedPorts({ container: settings.port, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Server is ready/))
    .withStartupTimeout(60_000)
    .start();
  t.after(() => started.stop({ remove: true, timeout: 2_000 }));
  const container = (await getContainerRuntimeClient()).container.getById(started.getId());

  const connection = { servers: [`nats://127.0.0.1:${port}`], name: 'test' };
  const setup = await setUpStreams({ connection, log });
  assert.equal(setup.outcomes.FLEET, 'created');
  assert.ok(supportsSyncInterval(setup.serverVersion), `${IMAGE} is ${setup.serverVersion}`);

  const outbox = openOutbox();
  const failures: string[] = [];
  const relay = createOutboxPublisher({
    connection,
    source: outbox,
    subjectPrefixes: ['fleet.task.neo'],
    log,
    clock: systemClock,
    onPublished: (result) => result === 'error' && failures.push(result),
  });
  t.after(() => relay.close());

  for (let round = 0; round < 3; round += 1) {
    const before = outbox.cursor();
    outbox.append(2_000);
    await until(() => outbox.cursor() > before, 'the first acknowledgements of this round');
    await container.kill({ signal: 'SIGKILL' });
    assert.ok(outbox.backlog().count > 0, 'everything was published before the kill');
    outbox.append(100);
    await container.start();
    assert.equal(await relay.flush(30_000), true, relay.state().lastError);
  }

  const wanted = outbox.ids();
  const stored: string[] = [];
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), 30_000);
  await consume({
    connection,
    filter: 'fleet.task.>',
    fromStart: true,
    log,
    clock: systemClock,
    signal: stop.signal,
    onEvent: ({ id }) => {
      stored.push(id);
      if (id === wanted.at(-1)) stop.abort();
    },
  });
  clearTimeout(late);
  assert.deepEqual(stored, wanted);
  t.diagnostic(`${stored.length} events, ${failures.length} attempts without an acknowledgement`);
});
