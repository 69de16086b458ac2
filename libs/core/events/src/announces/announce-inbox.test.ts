import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { headers, type NatsConnection } from 'nats';
import {
  announced,
  connectAs,
  openBus,
  recordAnnounces,
  startServer,
  untilConnected,
} from '../../testing/announces.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { STREAM } from '../streams/subjects.ts';
import { announceEvent } from './announce-event.ts';

const deadline = { timeout: 60_000 };
test(
  'in a flood the newest announce of each profile is handled in sequence, and other messages are skipped',
  deadline,
  async (t) => {
    const server = await startServer(t);
    const log = recordingLog();
    const gate = Promise.withResolvers<void>();
    const { received, until, onAnnounce } = recordAnnounces();
    let atOnce = 0;
    const listener = openBus(t, 'switch', {
      url: server.url,
      log,
      onAnnounce: async (announce, from) => {
        atOnce += 1;
        assert.equal(atOnce, 1);
        await gate.promise;
        onAnnounce(announce, from);
        atOnce -= 1;
        if (announce.seq === 2) throw new Error('not to be handled');
      },
    });
    await untilConnected(listener);
    const [neo, morpheus] = [
      await connectAs(t, server.url, 'neo'),
      await connectAs(t, server.url, 'morpheus'),
    ];
    const publish = (nc: NatsConnection, name: string, seq: number): void =>
      nc.publish(`fleet.announce.${name}`, JSON.stringify(announceEvent(name, announced(seq))));
    publish(neo, 'neo', 1);
    for (let seq = 2; seq <= 500; seq += 1) publish(neo, 'neo', seq);
    publish(morpheus, 'morpheus', 2);
    await Promise.all([neo.flush(), morpheus.flush()]);
    gate.resolve();
    const has = (name: string, seq: number) => (): boolean =>
      received.some(({ from, announce }) => from === name && announce.seq === seq);
    await until(() => has('neo', 500)() && has('morpheus', 2)());
    const ofNeo = received.filter(({ from }) => from === 'neo').map(({ announce }) => announce.seq);
    assert.equal(ofNeo.at(-1), 500);
    assert.ok(ofNeo.length < 100, ofNeo.join());
    await log.saw(/an announce on NATS was not handled/);

    for (const text of [
      'no json',
      '{}',
      JSON.stringify({ ...announceEvent('neo', announced(9)), type: 'other' }),
    ]) {
      neo.publish('fleet.announce.neo', text);
      await neo.flush();
    }
    await log.saw(/skipped a message that is not an announce/);
    neo.publish('fleet.announce.neo', 'x'.repeat(300_000));
    await log.saw(/dropped an announce/);
    publish(neo, 'neo', 501);
    await until(() => received.at(-1)?.announce.seq === 501);
  },
);

test(
  "a stored message that a profile directs at another's subject is not an announce of the other",
  deadline,
  async (t) => {
    const server = await startServer(t);
    const set = { user: 'setup', pass: 'setup-password' };
    await setUpStreams({ connection: { servers: [server.url], name: 's', ...set }, log: silentLog });
    const log = recordingLog();
    const { received, until, onAnnounce } = recordAnnounces();
    await untilConnected(openBus(t, 'switch', { url: server.url, log, onAnnounce }));
    const neo = await connectAs(t, server.url, 'neo');
    const forged = JSON.stringify(announceEvent('morpheus', announced(9)));
    for (const odd of [[], ['Nats-Stream', 'mine'], ['Nats-Subject', 'fleet.announce.morpheus']]) {
      const [key, value] = odd;
      const described = headers();
      if (key && value) described.set(key, value);
      const subject = `fleet.task.neo.odd${odd.length}`;
      await neo.jetstream().publish(subject, forged, { headers: described });
      neo.publish(`$JS.API.DIRECT.GET.${STREAM}.${subject}`, '', { reply: 'fleet.announce.morpheus' });
    }
    await log.saw(/that its profile did not send/);
    const morpheus = openBus(t, 'morpheus', { url: server.url });
    morpheus.publish(announced(10));
    await until(() => received.some(({ announce }) => announce.seq === 10));
    assert.deepEqual(
      received.map(({ from, announce }) => [from, announce.seq]),
      [['morpheus', 10]],
    );
  },
);

test(
  "an acknowledgement that another user directs at a profile's subject replaces none of its announces",
  deadline,
  async (t) => {
    const server = await startServer(t);
    const set = { user: 'setup', pass: 'setup-password' };
    await setUpStreams({ connection: { servers: [server.url], name: 's', ...set }, log: silentLog });
    const { received, until, onAnnounce } = recordAnnounces();
    const log = recordingLog();
    const goOn = Promise.withResolvers<void>();
    const slowly = async (announce: JsonObject, from: string): Promise<void> => {
      onAnnounce(announce, from);
      await goOn.promise;
    };
    const listener = openBus(t, 'switch', { url: server.url, log, onAnnounce: slowly });
    await untilConnected(listener);
    const morpheus = openBus(t, 'morpheus', { url: server.url });
    morpheus.publish(announced(1));
    await until(() => received.length === 1);
    morpheus.publish(announced(2));
    assert.equal(await morpheus.flush(20_000), true);
    const neo = await connectAs(t, server.url, 'neo');
    neo.publish('fleet.task.neo.x', 'anything', { reply: 'fleet.announce.morpheus' });
    while (!JSON.stringify(log).includes('dropped a message that is not an announce'))
      await systemClock.sleep(5);
    goOn.resolve();
    await until(() => received.length === 2);
    assert.deepEqual(
      received.map(({ from, announce }) => [from, announce.seq]),
      [
        ['morpheus', 1],
        ['morpheus', 2],
      ],
    );
  },
);
