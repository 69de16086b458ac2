import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { startNatsServer } from '../../testing/nats-server.ts';
import { announceEvent } from '../announces/announce-event.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { consume } from './consume.ts';

/** The subjects of the first `count` events that match a filter. */
async function read(url: string, filter: string, count: number): Promise<string[]> {
  const done = new AbortController();
  const subjects: string[] = [];
  await consume({
    connection: { servers: [url], name: 'reader' },
    filter,
    fromStart: true,
    signal: done.signal,
    log: silentLog,
    clock: systemClock,
    onEvent: (_event, { subject }) => {
      if (subjects.push(subject) === count) done.abort();
    },
  });
  return subjects;
}

test('announces, events and audit heads are each read from their own stream', {
  timeout: 60_000,
}, async (t) => {
  const server = await startNatsServer(t);
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  const nc = await connect({ servers: server.url });
  const event = JSON.stringify(announceEvent('neo', { announce: {}, instanceId: '1', seq: 1, at: 0 }));
  const subjects = [
    'fleet.task.neo.done',
    'fleet.announce.neo',
    'fleet.announce.switch',
    'fleet.audit.trader',
  ];
  for (const subject of subjects) await nc.jetstream().publish(subject, event);
  await nc.close();
  assert.deepEqual(await read(server.url, 'fleet.task.>', 1), ['fleet.task.neo.done']);
  const announces = ['fleet.announce.neo', 'fleet.announce.switch'];
  assert.deepEqual(await read(server.url, 'fleet.announce.>', 2), announces);
  assert.deepEqual(await read(server.url, 'fleet.audit.>', 1), ['fleet.audit.trader']);
});

test('a filter that matches several streams or none is refused before connecting', async () => {
  const away = 'nats://127.0.0.1:1';
  await assert.rejects(read(away, 'fleet.>', 1), {
    code: 'CONFIG_INVALID',
    message: /FLEET \(fleet\.task\.> or .*\), FLEET_ANNOUNCE \(fleet\.announce\.>\), FLEET_AUDIT \(.*\)/,
  });
  await assert.rejects(read(away, 'other.>', 1), { code: 'CONFIG_INVALID', message: /no stream holds/ });
});

test('untilEnd ends at once where the stream holds nothing that matches, and after the last event', {
  timeout: 20_000,
}, async (t) => {
  const server = await startNatsServer(t);
  await setUpStreams({ connection: { servers: [server.url], name: 'set-up' }, log: silentLog });
  const subjects: string[] = [];
  const readAll = () =>
    consume({
      connection: { servers: [server.url], name: 'reader' },
      filter: 'fleet.announce.>',
      fromStart: true,
      untilEnd: true,
      signal: t.signal,
      log: silentLog,
      clock: systemClock,
      onEvent: (_event, { subject }) => void subjects.push(subject),
    });
  await readAll();
  const nc = await connect({ servers: server.url });
  const event = JSON.stringify(announceEvent('neo', { announce: {}, instanceId: '1', seq: 1, at: 0 }));
  for (const name of ['neo', 'switch']) await nc.jetstream().publish(`fleet.announce.${name}`, event);
  await nc.close();
  await readAll();
  assert.deepEqual(subjects, ['fleet.announce.neo', 'fleet.announce.switch']);
});
