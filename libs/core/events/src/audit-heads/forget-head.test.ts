import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'nats';
import { audited, connectAs, follow, headOf, login, SETUP, SUBJECT, stored } from '../../testing/heads.ts';
import { headEvent } from './head-event.ts';
import { type FoundHead, forgetHead } from './stored-head.ts';

const deadline = { timeout: 60_000 };

const forget = (url: string, options: { as?: string; service?: string; found?: FoundHead[] } = {}) =>
  forgetHead({
    connection: login(url, options.as ?? SETUP.user),
    service: options.service ?? 'trader',
    timeoutMs: 10_000,
    onFound: (found) => void options.found?.push(found),
  });

test(
  'forgetHead reports the head, removes it, and lets another audit publish its own',
  deadline,
  async (t) => {
    const server = await audited(t);
    assert.equal(await forget(server.url), 'none');
    const nc = await connectAs(t, server, 'trader');
    await nc.jetstream().publish(SUBJECT, JSON.stringify(headEvent('trader', headOf(9, 'two'), 0)));
    const broken = follow(t, server.url, { at: 5 });
    assert.equal(await broken.publisher.flush(20_000), false);
    assert.equal(broken.publisher.state().audit, 'broken');
    await broken.publisher.close();

    const found: FoundHead[] = [];
    assert.equal(await forget(server.url, { found }), 'forgotten');
    assert.deepEqual(
      found.map(({ head }) => head),
      [headOf(9, 'two')],
    );
    assert.ok(Number(found[0]?.bytes) > 100 && Date.parse(found[0]?.storedAt ?? '') > 0, found[0]?.storedAt);
    assert.equal((await stored(server)).head, undefined);
    assert.equal(await forget(server.url), 'none');

    const next = follow(t, server.url, { at: 5 });
    assert.equal(await next.publisher.flush(20_000), true);
    assert.deepEqual(next.audit.asked, [undefined]);
    assert.deepEqual((await stored(server)).head, headOf(5));
  },
);

test('a running publisher publishes its head again', deadline, async (t) => {
  const server = await audited(t);
  const { publisher, grow } = follow(t, server.url, { at: 3 });
  assert.equal(await publisher.flush(20_000), true);
  assert.equal(await forget(server.url), 'forgotten');
  grow(4);
  assert.equal(await publisher.flush(20_000), true);
  assert.equal(publisher.state().audit, 'ok');
  assert.deepEqual((await stored(server)).head, headOf(4));
});

test('a message that is not a head is reported as such and removed', deadline, async (t) => {
  const server = await audited(t);
  const nc = await connectAs(t, server, 'trader');
  await nc.jetstream().publish(SUBJECT, 'nothing');
  const found: FoundHead[] = [];
  assert.equal(await forget(server.url, { found }), 'forgotten');
  assert.deepEqual([found[0]?.head, found[0]?.bytes], [undefined, 7]);
});

test("a head that arrives in the meantime is kept, as are other services' heads", deadline, async (t) => {
  const server = await audited(t);
  const nc = await connect({ servers: server.url, ...SETUP });
  t.after(() => nc.close());
  const js = nc.jetstream();
  await js.publish('fleet.audit.other', JSON.stringify(headEvent('other', headOf(1), 0)));
  await js.publish(SUBJECT, JSON.stringify(headEvent('trader', headOf(1), 0)));
  const outcome = await forgetHead({
    connection: login(server.url, SETUP.user),
    service: 'trader',
    timeoutMs: 10_000,
    onFound: async () => {
      await js.publish(SUBJECT, JSON.stringify(headEvent('trader', headOf(2), 0)));
    },
  });
  const { streams } = await nc.jetstreamManager();
  const held = await streams.info('FLEET_AUDIT', { subjects_filter: '>' });
  assert.deepEqual([outcome, held.state.subjects], ['replaced', { 'fleet.audit.other': 1, [SUBJECT]: 1 }]);
  assert.deepEqual((await stored(server)).head, headOf(2));
  assert.equal(await forget(server.url), 'forgotten');
  const others = await streams.info('FLEET_AUDIT', { subjects_filter: '>' });
  assert.deepEqual(others.state.subjects, { 'fleet.audit.other': 1 });
});

test(
  'forgetHead needs permission, a broker that answers, and the name of one service',
  deadline,
  async (t) => {
    const server = await audited(t);
    const nc = await connectAs(t, server, 'trader');
    await nc.jetstream().publish(SUBJECT, JSON.stringify(headEvent('trader', headOf(1), 0)));
    // The trader may read but not remove its own head; a profile may do neither.
    for (const as of ['trader', 'neo'])
      await assert.rejects(forget(server.url, { as }), {
        code: 'CONFIG_INVALID',
        message: /cannot be forgotten.*set-up user.*restart NATS/,
      });
    for (const service of ['*', '>', 'trader.x', ''])
      await assert.rejects(forget(server.url, { service }), { code: 'INVALID_PARAMS' }, service);
    assert.deepEqual((await stored(server)).head, headOf(1));
    await server.kill();
    await assert.rejects(forget(server.url), { code: 'PEER_UNREACHABLE', message: /no NATS server/ });
  },
);
