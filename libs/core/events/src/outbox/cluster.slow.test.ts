import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { idsAt, setUpCluster, until, wholeCluster } from '../../testing/cluster-bus.ts';
import { type NatsCluster, startNatsCluster } from '../../testing/nats-cluster.ts';
import { openTestOutbox } from '../../testing/outbox.ts';
import { createOutboxPublisher } from './outbox-publisher.ts';

const WRITE_EVERY_MS = 40;

/** A profile that writes events without a pause, and publishes them. */
function profileOf(name: string, servers: readonly string[]) {
  const outbox = openTestOutbox({ file: ':memory:', profile: name });
  const writing = setInterval(() => outbox.append(2), WRITE_EVERY_MS);
  let acknowledged = 0;
  const publisher = createOutboxPublisher({
    connection: { servers, name },
    source: outbox,
    subjectPrefixes: [`fleet.task.${name}`],
    log: silentLog,
    clock: systemClock,
    ackTimeoutMs: 1_000,
    onPublished: (result) => {
      if (result === 'ok') acknowledged += 1;
    },
  });
  return {
    name,
    outbox,
    publisher,
    /** Resolves when the bus has taken this many more events. */
    more: (count: number): Promise<true> => {
      const wanted = acknowledged + count;
      return until(`${count} more events of ${name}`, () => (acknowledged >= wanted ? true : undefined));
    },
    stopWriting: () => clearInterval(writing),
    stop: async (): Promise<void> => {
      clearInterval(writing);
      await publisher.close();
    },
  };
}

/** What a publisher of each server must have reached after a fault. */
const progress = (profiles: readonly ReturnType<typeof profileOf>[], count = 50) =>
  Promise.all(profiles.map(({ more }) => more(count)));

const others = (cluster: NatsCluster, name: string): string[] =>
  cluster.servers.map((server) => server.name).filter((other) => other !== name);

/** Asserts that a server delivers exactly these events. A copy that lags delivers the first of them, and catches up. */
async function assertHolds(url: string, profile: string, ids: readonly string[]): Promise<void> {
  const found = await until(`all events of ${profile} at ${url}`, async () => {
    const stored = await idsAt(url, `fleet.task.${profile}.>`);
    return stored.length < ids.length && stored.every((id, at) => id === ids[at]) ? undefined : stored;
  });
  const at = found.findIndex((id, place) => id !== ids[place]);
  const around = { at, found: found.slice(at - 2, at + 8), wanted: ids.slice(at - 2, at + 8) };
  const [lost, more] = [ids.filter((id) => !found.includes(id)), found.length - new Set(found).size];
  assert.deepEqual(
    { at, lost, more },
    { at: -1, lost: [], more: 0 },
    `${profile}: ${JSON.stringify(around)}`,
  );
}

test('a cluster that loses servers and routes loses, reorders and doubles no event', {
  timeout: 480_000,
}, async (t) => {
  const cluster = await startNatsCluster(t);
  const made = await setUpCluster(cluster.urls);
  assert.equal(made.replicas, 3);
  // Each prefers another server: the first to answer is used.
  const profiles = ['neo', 'morpheus'].map((name) => profileOf(name, cluster.urls));
  t.after(() => Promise.all(profiles.map(({ stop }) => stop())));
  await progress(profiles);

  await t.test('the leader is killed', async () => {
    const { leader } = await wholeCluster(cluster);
    await cluster.server(leader).kill();
    await progress(profiles);
    await cluster.server(leader).restart();
  });

  await t.test('a follower is killed', async () => {
    const { followers } = await wholeCluster(cluster);
    await cluster.server(followers[0]).kill();
    await progress(profiles);
    await cluster.server(followers[0]).restart();
  });

  await t.test('the leader is told to stop, as in a rolling update', async () => {
    const { leader } = await wholeCluster(cluster);
    await cluster.server(leader).stop();
    await progress(profiles);
    await cluster.server(leader).restart();
  });

  await t.test('the quorum is lost and comes back; events wait in the outbox meanwhile', async () => {
    const { leader, followers } = await wholeCluster(cluster);
    const lost = [leader, followers[0]].map((name) => cluster.server(name));
    await Promise.all(lost.map((server) => server.kill()));
    const waiting = profiles.map(({ name, publisher, outbox }) =>
      until(`a backlog of ${name}`, () =>
        outbox.backlog().count > 100 && !publisher.state().connected ? true : undefined,
      ),
    );
    await Promise.all(waiting);
    await Promise.all(lost.map((server) => server.restart()));
    await progress(profiles, 200);
  });

  await t.test('the leader is cut off from the others, and takes connections all the time', async () => {
    const { leader } = await wholeCluster(cluster);
    cluster.links.partition([leader], others(cluster, leader));
    await progress(profiles);
    cluster.links.heal();
    await wholeCluster(cluster);
    await progress(profiles);
  });

  await t.test('a follower is cut off from the others, and takes connections all the time', async () => {
    const { followers } = await wholeCluster(cluster);
    cluster.links.partition([followers[1]], others(cluster, followers[1]));
    await progress(profiles);
    cluster.links.heal();
    await wholeCluster(cluster);
  });

  for (const { stopWriting } of profiles) stopWriting();
  for (const { outbox, publisher, name, stop } of profiles) {
    assert.equal(await publisher.flush(120_000), true, `${name}: ${JSON.stringify(outbox.backlog())}`);
    await stop();
    for (const url of cluster.urls) await assertHolds(url, name, outbox.ids());
    t.diagnostic(`${name}: ${outbox.size()} events`);
  }
});

test('a publisher leaves a server that its cluster cannot reach, and comes back to one that it left', {
  timeout: 120_000,
}, async (t) => {
  const cluster = await startNatsCluster(t);
  await setUpCluster(cluster.urls);
  const { followers, leader } = await wholeCluster(cluster);
  const [lonely, other] = followers.map((name) => cluster.server(name));
  assert.ok(lonely && other);
  cluster.links.partition([lonely.name], [other.name, leader]);
  const profile = profileOf('neo', [lonely.url, other.url]);
  t.after(profile.stop);
  await profile.more(20);
  cluster.links.heal();
  await wholeCluster(cluster);
  await other.kill();
  await profile.more(20);
});
