import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOutboxPublisher, renderNatsConfig, setUpStreams } from '@hermes-fleet/events';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { startChild } from '../frame/child.ts';
import { EVENTS, newLedger, removeDatabase, writeTask } from './ledger.ts';

const START_MS = 10_000;
const FLUSH_MS = 20_000;
const SUBJECT = 'fleet.task.bench';

/** A nats-server on loopback with JetStream on disk. */
export interface Nats extends AsyncDisposable {
  readonly url: string;
}

export async function startNats(dir: string, port: number): Promise<Nats> {
  const storeDir = join(dir, 'nats-bench');
  mkdirSync(storeDir, { recursive: true });
  const file = join(dir, 'nats-bench.conf');
  writeFileSync(file, renderNatsConfig({ storeDir, port, host: '127.0.0.1', syncAlways: false, users: [] }));
  const child = startChild({
    command: ['nats-server', '--config', file],
    stdio: 'ignore',
    hint: 'run deploy/system-packages.sh',
  });
  const nats = {
    url: `nats://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
  const giveUpAt = performance.now() + START_MS;
  for (;;) {
    try {
      await setUpStreams({ connection: { servers: [nats.url], name: 'bench' }, log: silentLog });
      return nats;
    } catch (error) {
      const end = child.end();
      if (end !== undefined) throw new Error(end, { cause: error });
      if (performance.now() > giveUpAt) {
        await nats[Symbol.asyncDispose]();
        throw error;
      }
      await systemClock.sleep(50);
    }
  }
}

/** Acknowledged events per second from a full outbox into JetStream, with up to `window` in flight. */
export async function outboxRate(dir: string, nats: Nats, events: number, window: number): Promise<number> {
  const file = join(dir, `outbox-${randomUUID()}.db`);
  const ledger = newLedger(file);
  const tasks = Math.ceil(events / EVENTS);
  await Promise.all(Array.from({ length: tasks }, () => writeTask(ledger)));
  const { count } = ledger.outbox.backlog();
  const startedAt = performance.now();
  const publisher = createOutboxPublisher({
    source: ledger.outbox,
    subjectPrefixes: [SUBJECT],
    window,
    log: silentLog,
    clock: systemClock,
    connection: { servers: [nats.url], name: 'bench' },
  });
  const flushed = await publisher.flush(FLUSH_MS);
  const seconds = (performance.now() - startedAt) / 1000;
  await publisher.close();
  await ledger.close();
  removeDatabase(file);
  if (!flushed) throw new Error(`the outbox did not publish ${count} events within ${FLUSH_MS / 1000} s`);
  return count / seconds;
}

/** The size of an event of the ledger as it is published, in bytes. */
export async function eventSize(dir: string): Promise<number> {
  const file = join(dir, `outbox-${randomUUID()}.db`);
  const ledger = newLedger(file);
  await writeTask(ledger);
  const sizes = ledger.outbox.read(0, EVENTS).map(({ event }) => JSON.stringify(event).length);
  await ledger.close();
  removeDatabase(file);
  return Math.round(sizes.reduce((total, size) => total + size, 0) / sizes.length);
}

/** Acknowledged messages per second that the NATS client alone publishes, with up to `window` in flight. */
export async function bareRate(nats: Nats, bytes: number, count: number, window: number): Promise<number> {
  const startedAt = performance.now();
  const connection = await connect({ servers: [nats.url], name: 'bench' });
  const js = connection.jetstream();
  const payload = new Uint8Array(bytes).fill(120);
  let sent = 0;
  const publish = async (): Promise<void> => {
    while (sent < count) {
      sent += 1;
      await js.publish(`${SUBJECT}.done`, payload, { msgID: randomUUID(), timeout: FLUSH_MS });
    }
  };
  try {
    await Promise.all(Array.from({ length: window }, publish));
    return count / ((performance.now() - startedAt) / 1000);
  } finally {
    await connection.close();
  }
}
