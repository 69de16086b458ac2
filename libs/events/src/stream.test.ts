import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connect, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import { STREAM, setUpStreams, supportsSyncInterval } from './stream.ts';
import { startNatsServer } from './testing/nats-server.ts';
import { recordingLog } from './testing/observe.ts';

const deadline = { timeout: 60_000 };
const HOUR_NS = 60 * 60 * 1e9;

async function bus(t: TestContext) {
  const server = await startNatsServer(t);
  const connection = { servers: [server.url], name: 'set-up' };
  const admin = await connect({ servers: server.url });
  t.after(() => admin.close());
  const jsm = await admin.jetstreamManager();
  return { server, connection, jsm, config: async () => (await jsm.streams.info(STREAM)).config };
}

test('creates the stream with its limits, and finds it unchanged the next time', deadline, async (t) => {
  const { connection, config, server } = await bus(t);
  const log = recordingLog();
  const made = await setUpStreams({ connection, log });
  assert.equal(made.outcome, 'created');
  assert.equal(made.serverVersion, server.version);
  const { subjects, max_age, max_bytes, duplicate_window, storage, allow_direct } = await config();
  assert.deepEqual(
    { subjects, max_age, max_bytes, duplicate_window, storage, allow_direct },
    {
      subjects: ['fleet.task.>', 'fleet.announce.>', 'fleet.control.>', 'fleet.audit.>'],
      max_age: 30 * 24 * HOUR_NS,
      max_bytes: 1024 ** 3,
      duplicate_window: 2 * HOUR_NS,
      storage: 'file',
      allow_direct: true,
    },
  );
  assert.equal((await setUpStreams({ connection, log })).outcome, 'unchanged');
});

test('says what a server without sync_interval means, and only then', deadline, async (t) => {
  const { connection, server } = await bus(t);
  const log = recordingLog();
  const setup = await setUpStreams({ connection, log });
  const old = !supportsSyncInterval(server.version);
  assert.equal(setup.knowsSyncInterval, !old);
  assert.equal(setup.notes.length, old ? 1 : 0);
  const warnings = log.entries.filter(({ level }) => level === 'warn').map(({ message }) => message);
  assert.deepEqual(warnings, setup.notes);
  if (old) assert.match(setup.notes.join(), /survive a crash of the process, not of the machine/);
});

test('brings an existing stream up to the limits and leaves what an operator added', deadline, async (t) => {
  const { connection, config, jsm } = await bus(t);
  await jsm.streams.add({
    name: STREAM,
    subjects: ['fleet.task.>'],
    description: 'ours',
    max_msg_size: 65_536,
  });
  const log = recordingLog();
  const setup = await setUpStreams({ connection, log, maxAgeS: 86_400, maxBytes: 64 * 1024 ** 2 });
  assert.equal(setup.outcome, 'updated');
  const now = await config();
  assert.deepEqual(
    [now.max_age, now.max_bytes, now.allow_direct, now.description, now.max_msg_size],
    [24 * HOUR_NS, 64 * 1024 ** 2, true, 'ours', 65_536],
  );
});

test('several that set up at once agree', deadline, async (t) => {
  const { connection, config } = await bus(t);
  await Promise.all(Array.from({ length: 5 }, () => setUpStreams({ connection, log: recordingLog() })));
  assert.equal((await config()).name, STREAM);
});

const INCOMPATIBLE: [reason: RegExp, config: Partial<StreamConfig>][] = [
  [/stored in memory/, { storage: StorageType.Memory }],
  [/retention is workqueue/, { retention: RetentionPolicy.Workqueue }],
  [/acknowledges nothing/, { no_ack: true }],
];

for (const [reason, config] of INCOMPATIBLE) {
  test(`refuses a stream that cannot hold the events: ${reason.source}`, deadline, async (t) => {
    const { connection, jsm } = await bus(t);
    await jsm.streams.add({ name: STREAM, subjects: ['fleet.task.>'], ...config });
    await assert.rejects(setUpStreams({ connection, log: recordingLog() }), (error: unknown) => {
      assert.ok(error instanceof Error && 'code' in error && error.code === 'CONFIG_INVALID');
      assert.match(error.message, reason);
      return true;
    });
  });
}

test(
  'refuses subjects that another stream takes, and ages below the duplicate window',
  deadline,
  async (t) => {
    const { connection, jsm } = await bus(t);
    await jsm.streams.add({ name: 'OTHER', subjects: ['fleet.task.neo.>'] });
    const log = recordingLog();
    await assert.rejects(setUpStreams({ connection, log }), {
      code: 'CONFIG_INVALID',
      message: /subjects overlap with an existing stream/,
    });
    await assert.rejects(setUpStreams({ connection, log, maxAgeS: 60 }), {
      code: 'CONFIG_INVALID',
      message: /at least 7200 s, not 60 s/,
    });
  },
);

test('a server that is not there is an error that may be retried', deadline, async (t) => {
  const { connection, server } = await bus(t);
  await server.kill();
  await assert.rejects(setUpStreams({ connection, log: recordingLog() }), {
    code: 'PEER_UNREACHABLE',
    retryable: true,
    message: /127\.0\.0\.1:\d+ cannot be reached/,
  });
});

test('sync_interval is known from 2.10 on', () => {
  const known = ['2.9.10', 'v2.9.25', '2.10.0', 'v2.10.27', '2.14.1', '3.0.0', 'unknown'];
  assert.deepEqual(known.map(supportsSyncInterval), [false, false, true, true, true, true, false]);
});
