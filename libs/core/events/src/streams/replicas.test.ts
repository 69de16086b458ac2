import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { placesOf, setUpCluster, until } from '../../testing/cluster-bus.ts';
import { startNatsCluster } from '../../testing/nats-cluster.ts';
import { storedIds } from '../../testing/observe.ts';
import { openTestOutbox } from '../../testing/outbox.ts';
import { outcomes } from '../../testing/streams.ts';
import { setUpStreams } from './set-up-streams.ts';

test('streams get as many copies as the cluster can have, and more when it grew', {
  timeout: 120_000,
}, async (t) => {
  const cluster = await startNatsCluster(t, { started: 2 });
  const [first = '', second = '', third = ''] = cluster.urls;

  await t.test('a stream is not created while servers that the operator named are missing', async () => {
    await until('an answer of the cluster', async () => {
      const refused = await setUpStreams({
        connection: { servers: cluster.urls, name: 'set-up' },
        log: silentLog,
        formingMs: 500,
      }).then(
        () => assert.fail('it must not be created'),
        (error: Error & { code?: string }) => error,
      );
      assert.equal(refused.code, 'PEER_UNREACHABLE');
      return /FLEET needs 3 servers with JetStream/.test(refused.message) ? true : undefined;
    });
  });

  await t.test('two servers hold one copy, and the set-up says what three would give', async () => {
    const made = await setUpCluster([first, second], { formingMs: 500 });
    assert.equal(made.replicas, 1);
    assert.match(
      made.notes.join(),
      /one copy.+with three servers or more, fleet nats setup gives them three/,
    );
  });

  const outbox = openTestOutbox({ file: ':memory:', profile: 'neo' });
  outbox.append(200);
  await t.test('a third server gets a copy of what the streams hold', async () => {
    const nc = await connect({ servers: first });
    for (const { subject, event } of outbox.read(0, 200))
      await nc.jetstream().publish(subject, JSON.stringify(event), { msgID: event.id });
    await nc.close();
    await cluster.servers[2]?.restart();
    const made = await until('three copies', async () => {
      const again = await setUpCluster(cluster.urls);
      return again.replicas === 3 ? again : undefined;
    });
    // While the cluster takes the server in, an attempt can update some of the streams only.
    assert.ok(outcomes(made).every((outcome) => outcome === 'updated' || outcome === 'unchanged'));
    assert.deepEqual(
      made.notes.filter((note) => note.includes('one copy')),
      [],
    );
  });

  await t.test('the copies survive the loss of the server that had the only one', async () => {
    const { leader } = await until('three copies that are up to date', async () => {
      const places = await placesOf(third);
      return places.current.length === 2 ? places : undefined;
    });
    await cluster.server(leader).kill();
    const alive = cluster.servers.find(({ name }) => name !== leader)?.url ?? '';
    await until('a new leader', async () => (await placesOf(alive)).leader);
    assert.deepEqual(await until('an answer of the new leader', () => storedIds(alive)), outbox.ids());
    await cluster.server(leader).restart();
    // It knows only one copy until it has caught up.
    await until('the server to have caught up', async () =>
      (await placesOf(cluster.server(leader).url)).current.length === 2 ? true : undefined,
    );
  });

  await t.test('a later set-up changes nothing, and lowers nothing', async () => {
    for (const replicas of [undefined, 1]) {
      const again = await until('an answer', () => setUpCluster(cluster.urls, { replicas }));
      assert.deepEqual([again.replicas, ...outcomes(again)], [3, 'unchanged', 'unchanged', 'unchanged']);
    }
  });
});
