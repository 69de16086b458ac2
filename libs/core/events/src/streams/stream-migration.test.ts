import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { AckPolicy, connect, nanos, StorageType } from 'nats';
import { storedIds } from '../../testing/observe.ts';
import { bus, ids, ONE_STREAM, outcomes } from '../../testing/streams.ts';
import { setUpStreams } from './set-up-streams.ts';
import { announceStream } from './stream-config.ts';
import { ANNOUNCE_STREAM, AUDIT_STREAM, STREAM } from './subjects.ts';

const deadline = { timeout: 60_000 };

test(
  'a FLEET with announces gives up their subjects but keeps its messages and consumers',
  deadline,
  async (t) => {
    const { connection, config, server, jsm, announce, publishEvents, count } = await bus(t);
    await jsm.streams.add({ ...ONE_STREAM, description: 'ours' });
    for (const [durable_name, filter_subject] of [
      ['tasks', 'fleet.task.>'],
      ['announces', 'fleet.announce.>'],
      ['everything', 'fleet.>'],
    ] as const)
      await jsm.consumers.add(STREAM, { durable_name, filter_subject, ack_policy: AckPolicy.Explicit });
    await publishEvents('neo', 1, 10);
    await announce('neo', 1, 10);

    const log = recordingLog();
    const setups = await Promise.all(Array.from({ length: 5 }, () => setUpStreams({ connection, log })));
    const all = setups.map((setup) => outcomes(setup).join(', '));
    assert.ok(all.includes('updated, created, created'), all.join('; '));
    const { subjects, description, max_age } = await config();
    assert.deepEqual(
      [subjects, description, max_age],
      [['fleet.task.>', 'fleet.control.>', 'fleet.trade.>'], 'ours', nanos(30 * 86_400_000)],
    );
    assert.deepEqual((await config(ANNOUNCE_STREAM)).subjects, ['fleet.announce.>']);
    assert.deepEqual((await config(AUDIT_STREAM)).subjects, ['fleet.audit.>']);

    await announce('neo', 11, 13);
    await publishEvents('neo', 11, 12);
    assert.equal(await count(STREAM), 22);
    assert.deepEqual(await storedIds(server.url), ids('neo', 'task', 1, 12));
    assert.deepEqual(await storedIds(server.url, 'fleet.announce.>'), ids('neo', '1', 11, 13));
    assert.equal((await jsm.consumers.info(STREAM, 'tasks')).num_pending, 12);
    await server.restart();
    assert.deepEqual(outcomes(await setUpStreams({ connection, log })), [
      'unchanged',
      'unchanged',
      'unchanged',
    ]);
    assert.deepEqual(await storedIds(server.url), ids('neo', 'task', 1, 12));
  },
);

test('set-up completes an interrupted migration', deadline, async (t) => {
  const { connection, jsm } = await bus(t);
  await jsm.streams.add({ ...ONE_STREAM, subjects: ['fleet.task.>', 'fleet.control.>', 'fleet.trade.>'] });
  const made = await setUpStreams({ connection, log: silentLog });
  assert.deepEqual(outcomes(made), ['unchanged', 'created', 'created']);
});

test('a FLEET beside an announce stream gives up audit heads but keeps its messages', deadline, async (t) => {
  const { connection, config, server, jsm, announce, publishEvents, count, publish } = await bus(t);
  await jsm.streams.add({ ...ONE_STREAM, subjects: ['fleet.task.>', 'fleet.control.>', 'fleet.audit.>'] });
  await jsm.streams.add(announceStream());
  await jsm.consumers.add(STREAM, { durable_name: 'all', ack_policy: AckPolicy.Explicit });
  await publishEvents('neo', 1, 3);
  await announce('neo', 1, 4);
  assert.equal(await publish('fleet.audit.trader'), STREAM);
  const made = await setUpStreams({ connection, log: silentLog });
  assert.deepEqual(outcomes(made), ['updated', 'unchanged', 'created']);
  assert.deepEqual((await config()).subjects, ['fleet.task.>', 'fleet.control.>', 'fleet.trade.>']);
  assert.deepEqual([await count(STREAM), await count(ANNOUNCE_STREAM), await count(AUDIT_STREAM)], [4, 4, 0]);
  for (let n = 0; n < 3; n += 1) assert.equal(await publish('fleet.audit.trader'), AUDIT_STREAM);
  assert.equal(await publish('fleet.control.account.market'), STREAM);
  assert.equal(await count(AUDIT_STREAM), 1);
  assert.equal((await jsm.consumers.info(STREAM, 'all')).num_pending, 5);
  await server.restart();
  assert.deepEqual(await storedIds(server.url), ids('neo', 'task', 1, 3));
  const again = await connect({ servers: server.url });
  t.after(() => again.close());
  const { state } = await (await again.jetstreamManager()).streams.info(AUDIT_STREAM);
  assert.deepEqual([state.messages, state.last_seq], [1, 3]);
});

for (const name of [ANNOUNCE_STREAM, AUDIT_STREAM]) {
  test(`a ${name} that cannot be set up leaves an older FLEET unchanged`, deadline, async (t) => {
    const { connection, config, jsm } = await bus(t);
    await jsm.streams.add(ONE_STREAM);
    await jsm.streams.add({ name, subjects: ['other'], storage: StorageType.Memory });
    await assert.rejects(setUpStreams({ connection, log: silentLog }), {
      code: 'CONFIG_INVALID',
      message: new RegExp(`stream ${name} exists and cannot hold.*stored in memory`),
    });
    assert.deepEqual((await config()).subjects, ONE_STREAM.subjects);
  });
}
