import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { consume, inboxPrefix, setUpStreams, startRelay } from '@hermes-fleet/events';
import { FleetError, type OutboxEvent, type OutboxSource, systemClock } from '@hermes-fleet/protocol';
import { findNatsServer } from '../local/nats-server.ts';
import { waitUntilReady } from '../local/ready.ts';
import { initKeys } from './init.ts';
import { keyPaths } from './layout.ts';
import { readSecret } from './secret-file.ts';

const skip = spawnSync('nats-server', ['--version']).error ? 'nats-server is not installed' : false;
const log = { info() {}, warn() {}, error() {}, debug() {} };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

/** A nats-server on the configuration that `keys init` writes. */
async function server(t: TestContext) {
  const parent = mkdtempSync(join(tmpdir(), 'bus-'));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const [port, monitorPort] = [await freePort(), await freePort()];
  const { command, syncAlways } = findNatsServer(process.env);
  const dir = join(parent, 'keys');
  const storeDir = join(parent, 'store');
  initKeys({
    dir,
    services: ['switch', 'neo'],
    nats: { storeDir, host: '127.0.0.1', port, monitorPort, syncAlways },
  });
  const child = spawn(command, ['--config', keyPaths(dir).natsConfig], { stdio: 'ignore' });
  const ended = new AbortController();
  child.once('exit', () => ended.abort('nats-server ended'));
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${monitorPort}/healthz`;
  assert.equal(
    await waitUntilReady({ url, deadlineMs: 20_000, ended: ended.signal, clock: systemClock }),
    undefined,
  );
  return (user: string) => ({
    servers: [`nats://127.0.0.1:${port}`],
    user,
    pass: readSecret(keyPaths(dir).variable(user, 'NATS_PASSWORD')) ?? '',
    name: user,
    inboxPrefix: inboxPrefix(user),
  });
}

/** One event on its way to the bus. */
function outboxOf(profile: string): OutboxSource {
  const event: OutboxEvent = {
    seq: 1,
    subject: `fleet.task.${profile}.done`,
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

test('the set-up user makes the stream, a profile writes to it, and the operator reads it', {
  skip,
}, async (t) => {
  const as = await server(t);
  assert.equal((await setUpStreams({ connection: as('setup'), log })).outcome, 'created');
  assert.equal((await setUpStreams({ connection: as('setup'), log })).outcome, 'unchanged');

  const relay = startRelay({
    connection: as('neo'),
    source: outboxOf('neo'),
    subjectPrefix: 'fleet.task.neo',
    log,
    clock: systemClock,
  });
  t.after(() => relay.close());
  assert.equal(await relay.flush(20_000), true);

  const seen = new AbortController();
  const subjects: string[] = [];
  await consume({
    connection: as('operator'),
    log,
    clock: systemClock,
    filter: 'fleet.task.>',
    fromStart: true,
    signal: AbortSignal.any([seen.signal, AbortSignal.timeout(20_000)]),
    onEvent: (_event, { subject }) => {
      subjects.push(subject);
      seen.abort();
    },
  }).catch((error: unknown) => {
    if (!seen.signal.aborted) throw error;
  });
  assert.deepEqual(subjects, ['fleet.task.neo.done']);
});

test('a profile cannot make or change the stream', { skip }, async (t) => {
  const as = await server(t);
  await assert.rejects(
    setUpStreams({ connection: as('neo'), log }),
    (error: unknown) => error instanceof FleetError,
  );
});
