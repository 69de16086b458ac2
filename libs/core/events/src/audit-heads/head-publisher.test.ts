import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import {
  audited,
  connectAs,
  follow,
  headOf,
  login,
  NEVER_MS,
  SETUP,
  SUBJECT,
  setUp,
  stored,
} from '../../testing/heads.ts';
import { storedIds } from '../../testing/observe.ts';
import { startProxy } from '../../testing/proxy.ts';
import { headEvent } from './head-event.ts';

const deadline = { timeout: 60_000 };

test("the newest head is on the bus as one event, with the trader's permissions", deadline, async (t) => {
  const server = await audited(t);
  const { publisher, audit, grow } = follow(t, server.url);
  assert.equal(await publisher.flush(20_000), true);
  assert.deepEqual((await stored(server)).head, headOf(1));
  grow(5);
  assert.equal(await publisher.flush(20_000), true);
  assert.deepEqual((await stored(server)).head, headOf(5));
  const ids = await storedIds(server.url, 'fleet.audit.>', SETUP.user, SETUP.pass);
  assert.deepEqual(ids, ['trader:one:head:5']);
  assert.deepEqual(publisher.state(), {
    connected: true,
    lastError: undefined,
    audit: 'ok',
    reason: undefined,
  });
  assert.deepEqual(audit.asked, [undefined]);
});

test(
  'a head that keeps changing is published once per interval, and at once on flush',
  deadline,
  async (t) => {
    const server = await audited(t);
    const { publisher, grow, log } = follow(t, server.url, { everyMs: NEVER_MS });
    await log.saw(/connected to the event bus/);
    assert.equal(await publisher.flush(20_000), true);
    for (let seq = 2; seq <= 1_000; seq += 1) {
      grow(seq);
      if (seq % 100 === 0) await systemClock.sleep(1);
    }
    assert.equal((await stored(server)).count, 1);
    assert.equal(await publisher.flush(20_000), true);
    assert.deepEqual(await stored(server).then(({ head, count }) => ({ head, count })), {
      head: headOf(1_000),
      count: 2,
    });
  },
);

test('a head is published without a flush after the interval', deadline, async (t) => {
  const server = await audited(t);
  const { grow, log } = follow(t, server.url, { everyMs: 50 });
  await log.saw(/connected to the event bus/);
  for (let seq = 2; seq <= 20; seq += 1) grow(seq);
  while ((await stored(server)).head?.seq !== 20) await systemClock.sleep(10);
});

test('an audit without a record has no head to publish', deadline, async (t) => {
  const server = await audited(t);
  const { publisher } = follow(t, server.url, { at: 0 });
  assert.equal(await publisher.flush(20_000), true);
  assert.equal((await stored(server)).count, 0);
});

test('the next start continues from the stored head after checking it', deadline, async (t) => {
  const server = await audited(t);
  const first = follow(t, server.url, { at: 3 });
  assert.equal(await first.publisher.flush(20_000), true);
  await first.publisher.close();
  const second = follow(t, server.url, { at: 4 });
  assert.equal(await second.publisher.flush(20_000), true);
  assert.deepEqual(second.audit.asked, [headOf(3)]);
  assert.deepEqual((await stored(server)).head, headOf(4));
  await second.publisher.close();
  const idle = follow(t, server.url, { at: 4 });
  assert.equal(await idle.publisher.flush(20_000), true);
  assert.equal((await stored(server)).count, 2, 'a head that is there is not published again');
});

test('a stored head that the audit does not contain breaks it and is never replaced', deadline, async (t) => {
  const server = await audited(t);
  const nc = await connectAs(t, server, 'trader');
  await nc.jetstream().publish(SUBJECT, JSON.stringify(headEvent('trader', headOf(9, 'two'), 0)));
  const states: string[] = [];
  const { publisher, log, grow } = follow(t, server.url, {
    at: 5,
    onState: ({ audit }) => void states.push(audit),
  });
  const entry = await log.saw(/the audit is broken/);
  assert.equal(entry.level, 'error');
  assert.equal(await publisher.flush(20_000), false);
  grow(6);
  assert.equal(await publisher.flush(20_000), false);
  const { audit, reason, connected } = publisher.state();
  assert.deepEqual([audit, reason, connected], ['broken', 'record 9 is another', false]);
  assert.ok(states.includes('broken') && !states.includes('ok'), states.join());
  assert.deepEqual(await stored(server).then(({ head, count }) => ({ head, count })), {
    head: headOf(9, 'two'),
    count: 1,
  });
});

test(
  'a message that is not a head breaks the audit, such as an acknowledgement that a profile directs there',
  deadline,
  async (t) => {
    const server = await audited(t);
    const { publisher, log, grow } = follow(t, server.url);
    assert.equal(await publisher.flush(20_000), true);
    const neo = await connectAs(t, server, 'neo');
    neo.publish('fleet.task.neo.x', 'anything', { reply: SUBJECT });
    while ((await stored(server)).count < 2) await systemClock.sleep(5);
    grow(2);
    assert.equal(await publisher.flush(20_000), false);
    assert.match(publisher.state().reason ?? '', /message on fleet\.audit\.trader is not an audit head/);
    await log.saw(/the audit is broken/);
    assert.match((await stored(server)).text, /"stream":\s?"FLEET"/);
  },
);

test(
  'a head that another publisher stored in the meantime is checked before it is replaced',
  deadline,
  async (t) => {
    const server = await audited(t);
    const nc = await connectAs(t, server, 'trader');
    for (const [between, goesOn] of [
      [headOf(2), true],
      [headOf(2, 'two'), false],
    ] as const) {
      const { publisher, grow, audit } = follow(t, server.url, { at: 1 });
      assert.equal(await publisher.flush(20_000), true);
      await nc.jetstream().publish(SUBJECT, JSON.stringify(headEvent('trader', between, 0)));
      grow(3);
      assert.equal(await publisher.flush(20_000), goesOn);
      assert.deepEqual(audit.asked.at(-1), between);
      assert.deepEqual((await stored(server)).head, goesOn ? headOf(3) : between);
      await publisher.close();
      await nc.request('fleet.audit.trader', JSON.stringify(headEvent('trader', headOf(1), 0)));
    }
  },
);

test('a lost acknowledgement causes a reconnect but no second copy', deadline, async (t) => {
  const server = await audited(t);
  const proxy = await startProxy(t, server.url);
  let lost = 0;
  proxy.pass = ({ fromClient, text }) => {
    if (fromClient || lost > 0 || !text.includes('"stream":"FLEET_AUDIT"')) return true;
    lost += 1;
    return false;
  };
  const { publisher, audit } = follow(t, proxy.url, { ackTimeoutMs: 200 });
  assert.equal(await publisher.flush(20_000), true);
  assert.equal(lost, 1);
  assert.deepEqual(audit.asked, [undefined, headOf(1)]);
  assert.equal((await stored(server)).count, 1);
});

test('a check that fails is repeated, and nothing is published before it succeeds', deadline, async (t) => {
  const server = await audited(t);
  let failures = 2;
  const { publisher, log } = follow(t, server.url, {
    check: async () => {
      failures -= 1;
      if (failures < 0) return undefined;
      assert.equal((await stored(server)).count, 0);
      throw new Error('the disk cannot be read');
    },
  });
  await log.saw(/interrupted/);
  assert.equal(await publisher.flush(20_000), true);
  assert.equal(publisher.state().audit, 'ok');
});

test(
  'without a stream or a broker the publisher waits, logs that, and continues when there is one',
  deadline,
  async (t) => {
    const server = await audited(t, { streams: false });
    const { publisher, log, grow } = follow(t, server.url);
    await log.saw(/interrupted/);
    assert.match(publisher.state().lastError ?? '', /FLEET_AUDIT does not answer: is it set up/);
    assert.equal(publisher.state().audit, 'unknown');
    await setUp(server);
    assert.equal(await publisher.flush(30_000), true);
    await server.kill();
    while (publisher.state().connected) await systemClock.sleep(5);
    grow(2);
    assert.equal(await publisher.flush(10), false);
    assert.equal(publisher.state().audit, 'ok');
    await server.restart();
    assert.equal(await publisher.flush(30_000), true);
    assert.deepEqual((await stored(server)).head, headOf(2));
  },
);

test('a user without permission gets an error that says so', deadline, async (t) => {
  const server = await audited(t);
  const { publisher, log } = follow(t, server.url, { connection: login(server.url, 'neo') });
  await log.saw(/interrupted/);
  assert.match(publisher.state().lastError ?? '', /permission/i);
  assert.equal((await stored(server)).count, 0);
});

test(
  'close returns at once without a broker, during the interval, and during a check',
  deadline,
  async (t) => {
    const server = await audited(t);
    const away = follow(t, 'nats://127.0.0.1:1');
    const flushing = away.publisher.flush(60_000);
    await away.publisher.close();
    assert.equal(await flushing, false);
    assert.equal(await away.publisher.flush(60_000), false);
    assert.equal(away.publisher.state().connected, false);

    const inItsTime = follow(t, server.url, { everyMs: NEVER_MS });
    assert.equal(await inItsTime.publisher.flush(20_000), true);
    inItsTime.grow(2);
    await inItsTime.publisher.close();
    assert.deepEqual((await stored(server)).head, headOf(1));

    const asked = Promise.withResolvers<void>();
    const checking = follow(t, server.url, {
      check: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    });
    await asked.promise;
    await checking.publisher.close();
    assert.equal(checking.publisher.state().audit, 'unknown');
  },
);
