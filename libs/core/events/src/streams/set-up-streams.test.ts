import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import { storedIds } from '../../testing/observe.ts';
import { bus, HOUR_NS, ids, outcomes } from '../../testing/streams.ts';
import { setUpStreams, supportsSyncInterval } from './set-up-streams.ts';
import { ANNOUNCE_STREAM, AUDIT_STREAM, STREAM } from './subjects.ts';

const deadline = { timeout: 60_000 };

test(
  'set-up creates the streams with their limits and leaves them unchanged the next time',
  deadline,
  async (t) => {
    const { connection, config, server } = await bus(t);
    const log = recordingLog();
    const made = await setUpStreams({ connection, log });
    assert.deepEqual(outcomes(made), ['created', 'created', 'created']);
    assert.equal(made.serverVersion, server.version);
    const limits = async (stream: string) => {
      const { subjects, max_age, max_bytes, max_msgs_per_subject, ...more } = await config(stream);
      const { duplicate_window, storage, discard, allow_direct } = more;
      return {
        subjects,
        max_age,
        max_bytes,
        max_msgs_per_subject,
        duplicate_window,
        storage,
        discard,
        allow_direct,
      };
    };
    const both = { storage: 'file', discard: 'old', allow_direct: true };
    assert.deepEqual(await limits(STREAM), {
      subjects: ['fleet.task.>', 'fleet.control.>', 'fleet.trade.>'],
      max_age: 30 * 24 * HOUR_NS,
      max_bytes: 1024 ** 3,
      max_msgs_per_subject: -1,
      duplicate_window: 2 * HOUR_NS,
      ...both,
    });
    assert.deepEqual(await limits(ANNOUNCE_STREAM), {
      subjects: ['fleet.announce.>'],
      max_age: 24 * HOUR_NS,
      max_bytes: 64 * 1024 ** 2,
      max_msgs_per_subject: 100,
      duplicate_window: 120 * 1e9,
      ...both,
    });
    assert.deepEqual(await limits(AUDIT_STREAM), {
      subjects: ['fleet.audit.>'],
      max_age: 0,
      max_bytes: 1024 ** 2,
      max_msgs_per_subject: 1,
      duplicate_window: 120 * 1e9,
      ...both,
    });
    assert.deepEqual(outcomes(await setUpStreams({ connection, log })), [
      'unchanged',
      'unchanged',
      'unchanged',
    ]);
  },
);

test(
  'the last 100 announces of a profile are kept, also through a crash, without affecting others',
  deadline,
  async (t) => {
    const { connection, server, announce, publishEvents, count } = await bus(t);
    await setUpStreams({ connection, log: silentLog });
    await publishEvents('neo', 1, 20);
    await announce('morpheus', 1, 5);
    await announce('neo', 1, 150);
    await announce('neo', 150, 150);
    const check = async (): Promise<void> => {
      assert.deepEqual(await storedIds(server.url, 'fleet.announce.neo'), ids('neo', '1', 51, 150));
      assert.deepEqual(await storedIds(server.url, 'fleet.announce.*'), [
        ...ids('morpheus', '1', 1, 5),
        ...ids('neo', '1', 51, 150),
      ]);
      assert.deepEqual(await storedIds(server.url), ids('neo', 'task', 1, 20));
    };
    await check();
    assert.deepEqual([await count(STREAM), await count(ANNOUNCE_STREAM)], [20, 105]);
    await server.restart();
    await check();
  },
);

test('a message too large for a head is not stored among the heads', deadline, async (t) => {
  const { connection, publish } = await bus(t);
  await setUpStreams({ connection, log: silentLog });
  await assert.rejects(publish('fleet.audit.trader', 'x'.repeat(5_000)), /maximum/);
});

test('set-up notes the consequences of a server without sync_interval', deadline, async (t) => {
  const { connection, server } = await bus(t);
  const log = recordingLog();
  const setup = await setUpStreams({ connection, log });
  const old = !supportsSyncInterval(server.version);
  assert.equal(setup.notes.length, old ? 1 : 0);
  const warnings = log.entries.filter(({ level }) => level === 'warn').map(({ message }) => message);
  assert.deepEqual(warnings, setup.notes);
  if (old) assert.match(setup.notes.join(), /survive a crash of the process, not of the machine/);
});

test(
  "set-up updates an existing stream to the limits and keeps an operator's settings",
  deadline,
  async (t) => {
    const { connection, config, jsm } = await bus(t);
    await jsm.streams.add({
      name: STREAM,
      subjects: ['fleet.task.>'],
      description: 'ours',
      max_msg_size: 65_536,
    });
    const log = recordingLog();
    const setup = await setUpStreams({ connection, log });
    assert.equal(setup.outcomes.FLEET, 'updated');
    const now = await config();
    assert.deepEqual(
      [now.max_age, now.max_bytes, now.allow_direct, now.description, now.max_msg_size],
      [30 * 24 * HOUR_NS, 1024 ** 3, true, 'ours', 65_536],
    );
  },
);

test('concurrent set-ups agree', deadline, async (t) => {
  const { connection, config } = await bus(t);
  await Promise.all(Array.from({ length: 5 }, () => setUpStreams({ connection, log: silentLog })));
  assert.equal((await config()).name, STREAM);
  assert.equal((await config(ANNOUNCE_STREAM)).name, ANNOUNCE_STREAM);
  assert.equal((await config(AUDIT_STREAM)).name, AUDIT_STREAM);
});

test(
  "set-up updates an existing announce stream to the limits and keeps an operator's settings",
  deadline,
  async (t) => {
    const { connection, config, jsm, announce, count } = await bus(t);
    await jsm.streams.add({ name: ANNOUNCE_STREAM, subjects: ['fleet.announce.neo'], description: 'ours' });
    await announce('neo', 1, 60);
    const setup = await setUpStreams({ connection, log: silentLog });
    assert.equal(setup.outcomes.FLEET_ANNOUNCE, 'updated');
    const { max_msgs_per_subject, subjects, description } = await config(ANNOUNCE_STREAM);
    assert.deepEqual([max_msgs_per_subject, subjects, description], [100, ['fleet.announce.>'], 'ours']);
    await announce('neo', 61, 150);
    assert.equal(await count(ANNOUNCE_STREAM), 100);
  },
);

const INCOMPATIBLE: [reason: RegExp, config: Partial<StreamConfig>][] = [
  [/stored in memory/, { storage: StorageType.Memory }],
  [/retention is workqueue/, { retention: RetentionPolicy.Workqueue }],
  [/acknowledges nothing/, { no_ack: true }],
];

for (const [reason, config] of INCOMPATIBLE) {
  test(`set-up refuses a stream that cannot hold the events: ${reason.source}`, deadline, async (t) => {
    const { connection, jsm } = await bus(t);
    await jsm.streams.add({ name: STREAM, subjects: ['fleet.task.>'], ...config });
    await assert.rejects(setUpStreams({ connection, log: silentLog }), (error: unknown) => {
      assert.ok(error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID');
      assert.match(error.message, reason);
      return true;
    });
  });
}

for (const name of [ANNOUNCE_STREAM, AUDIT_STREAM])
  test(`a ${name} that cannot be set up leaves the FLEET beside it unchanged`, deadline, async (t) => {
    const { connection, config, jsm } = await bus(t);
    await jsm.streams.add({ name: STREAM, subjects: ['fleet.task.>'] });
    await jsm.streams.add({ name, subjects: ['other'], storage: StorageType.Memory });
    await assert.rejects(setUpStreams({ connection, log: silentLog }), {
      code: 'CONFIG_INVALID',
      message: new RegExp(`stream ${name} exists and cannot hold.*stored in memory`),
    });
    assert.deepEqual((await config()).subjects, ['fleet.task.>']);
  });

test('set-up refuses subjects of another stream', deadline, async (t) => {
  const { connection, jsm } = await bus(t);
  await jsm.streams.add({ name: 'OTHER', subjects: ['fleet.task.neo.>'] });
  const log = recordingLog();
  await assert.rejects(setUpStreams({ connection, log }), {
    code: 'CONFIG_INVALID',
    message: /the stream FLEET at .*subjects overlap with an existing stream/,
  });
  await jsm.streams.update('OTHER', { subjects: ['fleet.announce.neo'] });
  await assert.rejects(setUpStreams({ connection, log }), {
    code: 'CONFIG_INVALID',
    message: /the stream FLEET_ANNOUNCE at .*subjects overlap with an existing stream/,
  });
  await jsm.streams.update('OTHER', { subjects: ['fleet.audit.neo'] });
  await assert.rejects(setUpStreams({ connection, log }), {
    code: 'CONFIG_INVALID',
    message: /the stream FLEET_AUDIT at .*subjects overlap with an existing stream/,
  });
});

test('an absent server is a retryable error', deadline, async (t) => {
  const { connection, server } = await bus(t);
  await server.kill();
  await assert.rejects(setUpStreams({ connection, log: silentLog }), {
    code: 'PEER_UNREACHABLE',
    retryable: true,
    message: /127\.0\.0\.1:\d+ cannot be reached/,
  });
});

test('sync_interval is supported from 2.10 on', () => {
  const known = ['2.9.10', 'v2.9.25', '2.10.0', 'v2.10.27', '2.14.1', '3.0.0', 'unknown'];
  assert.deepEqual(known.map(supportsSyncInterval), [false, false, true, true, true, true, false]);
});
