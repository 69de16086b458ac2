import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idsAt, setUpCluster, startNatsCluster, wholeCluster } from '@hermes-fleet/events/testing';
import { until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { startProfile } from '../support/lone-profile.ts';
import { resultWhenEnded, sendCommand } from '../support/sent-tasks.ts';

test('a profile goes on while its NATS cluster loses servers, all its events arrive, and lost ones are refilled', {
  timeout: 300_000,
}, async (t) => {
  const cluster = await startNatsCluster(t);
  await setUpCluster(cluster.urls);
  const [first = ''] = cluster.urls;
  const profile = await startProfile(t, { fleet: { nats: { servers: cluster.urls } } });
  const target = { url: profile.url, token: profile.token };
  let sent = 0;
  const work = async (count = 3): Promise<void> => {
    const tasks = Array.from({ length: count }, (_, at) => `task-${sent + at}`);
    sent += count;
    const ids = await Promise.all(tasks.map((task) => sendCommand(target, task, 'true')));
    for (const id of ids) {
      const result = await resultWhenEnded(target, id);
      assert.equal(result.status, 'done', JSON.stringify(result));
    }
  };
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${profile.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const written = (): string[] => {
    const { id, events } = readLedgerFile(profile.ledgerFile);
    return events.map(({ seq }) => `switch:${id}:${seq}`);
  };
  const arrive = async (): Promise<void> => {
    await until(async () => (await metric('fleet_outbox_backlog')) === 0, 'all events to be stored', 60_000);
    assert.deepEqual(await idsAt(first, 'fleet.task.switch.>'), written());
  };

  // The newest 64 are repeated with each new connection, so lost ones are noticed only before those.
  await work(30);
  await t.test('its leader is killed', async () => {
    const { leader } = await wholeCluster(cluster);
    await cluster.server(leader).kill();
    await work();
    await cluster.server(leader).restart();
    await wholeCluster(cluster);
    await arrive();
  });

  await t.test('two of three servers are killed: tasks go on, and their events wait', async () => {
    const { leader, followers } = await wholeCluster(cluster);
    const lost = [leader, followers[0]].map((name) => cluster.server(name));
    await Promise.all(lost.map((server) => server.kill()));
    await work();
    assert.ok((await metric('fleet_outbox_backlog')) > 0);
    await Promise.all(lost.map((server) => server.restart()));
    await wholeCluster(cluster);
    await arrive();
  });

  await t.test(
    'all volumes are lost: the profile says how many events are missing, until a refill',
    async () => {
      const before = written();
      await Promise.all(cluster.servers.map((server) => server.kill()));
      await Promise.all(cluster.servers.map((server) => server.loseVolume()));
      await Promise.all(cluster.servers.map((server) => server.restart()));
      await setUpCluster(cluster.urls);
      await wholeCluster(cluster);
      const missing = () => metric('fleet_outbox_missing_events');
      await until(async () => (await missing()) > 0, 'the profile to miss its events', 60_000);
      const ready = await (await fetch(`${profile.url}/ready`)).text();
      assert.match(ready, /missing|lacks/);
      await work();
      const report = JSON.parse(await profile.run('--refill'));
      assert.ok(report.published > 0 && report.published < before.length, JSON.stringify(report));
      assert.equal(report.missing, report.published);
      await until(
        async () => (await metric('fleet_outbox_backlog')) === 0,
        'all events to be stored',
        60_000,
      );
      assert.deepEqual((await idsAt(first, 'fleet.task.switch.>')).toSorted(), written().toSorted());
    },
  );
});
