import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { busPermissions, consume, inboxPrefix, setUpStreams } from '@hermes-fleet/events';
import { recordingLog, startNatsServer } from '@hermes-fleet/events/testing';
import type { CloudEvent } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { CONCERN, controlFile, headOf, rejectSome } from '../testing/control-file.ts';
import { order as bookOrder } from '../testing/store/book-entries.ts';
import type { ControlStore } from './control/control-store.ts';
import { connectControlBus } from './control-bus.ts';

const deadline = { timeout: 60_000 };
const SETUP = { user: 'setup', pass: 'setup-pw' };

/** A bus with the trader's permissions of a real fleet. */
async function bus(t: TestContext) {
  const server = await startNatsServer(t, {
    users: [
      { user: SETUP.user, password: SETUP.pass },
      { user: 'trader', password: 'trader-pw', permissions: busPermissions('trader', { control: true }) },
    ],
  });
  const setup = { servers: [server.url], name: 'test', ...SETUP };
  await setUpStreams({ connection: setup, log: recordingLog() });
  /** The first `count` events below the filter, with their subjects. */
  const read = async (filter: string, count: number): Promise<(CloudEvent & { on: string })[]> => {
    const events: (CloudEvent & { on: string })[] = [];
    const done = new AbortController();
    await consume({
      connection: setup,
      filter,
      fromStart: true,
      log: recordingLog(),
      clock: systemClock,
      signal: AbortSignal.any([done.signal, AbortSignal.timeout(20_000)]),
      onEvent: (event, { subject }) => {
        events.push({ ...event, on: subject });
        if (events.length === count) done.abort();
      },
    });
    return events;
  };
  return { server, read };
}

function connectTo(t: TestContext, store: ControlStore, url: string | undefined) {
  const log = recordingLog();
  const seen = { published: [] as string[], ok: [] as boolean[] };
  const nats = url === undefined ? undefined : { servers: [url], inbox_prefix: inboxPrefix('trader') };
  const control = connectControlBus({
    service: 'trader',
    store,
    clock: systemClock,
    log,
    nats,
    login: { user: 'trader', pass: 'trader-pw' },
    metrics: { add: (_name, labels) => void seen.published.push(...Object.values(labels)) },
    onAudit: ({ state }) => void (state !== 'unknown' && seen.ok.push(state === 'ok')),
  });
  t.after(() => control.close());
  return { control, seen, log };
}

const events = (store: ControlStore) => store.outbox.read(0, 1_000).map(({ event }) => event.id);

test(
  'what happens to orders is published between decisions, in order, over an outage of the bus too',
  deadline,
  async (t) => {
    const { server, read } = await bus(t);
    const store = controlFile(t, recordingLog()).open();
    await store.seed([], [CONCERN]);
    const trade = async (n: number): Promise<void> => {
      const entry = bookOrder(n, 0);
      await store.saveEngine(CONCERN.id, { n }, [entry]);
    };
    await rejectSome(store, 1);
    await trade(1);
    const { control } = connectTo(t, store, server.url);
    assert.equal(await control.relay?.flush(20_000), true);
    await trade(2);
    assert.equal(await control.relay?.flush(20_000), true);
    await server.restart();
    await trade(3);
    await rejectSome(store, 1);
    assert.equal(await control.relay?.flush(20_000), true);
    const trades = await read('fleet.trade.>', 3);
    assert.deepEqual(
      trades.map(({ on, type, subject, data }) => [on, type, subject, data['entry']]),
      [1, 2, 3].map((n) => [
        ...['fleet.trade.acct.xrpusd', 'dev.hermes-fleet.trade.placed.v1', `order-${n}`],
        n,
      ]),
    );
    const numbers = trades.map(({ id }) => Number(id.split(':').at(-1)));
    assert.deepEqual(numbers, [2, 3, 4]);
    assert.equal((await read('fleet.control.>', 2)).length, 2);
  },
);

test(
  'every decision is published once, in order, on its own subject, and the audit head too',
  deadline,
  async (t) => {
    const { server, read } = await bus(t);
    const store = controlFile(t, recordingLog()).open();
    await store.seed([], [CONCERN]);
    await rejectSome(store, 20);
    const ids = events(store);
    const { control, seen } = connectTo(t, store, server.url);
    assert.equal(await control.relay?.flush(20_000), true);
    const state = control.relay?.state();
    assert.deepEqual([state?.connected, state?.lastError], [true, undefined]);
    assert.deepEqual([control.audit.state().state, control.audit.state().detail], ['ok', undefined]);
    const found = await read('fleet.control.>', 20);
    assert.deepEqual(
      found.map(({ id }) => id),
      ids,
    );
    for (const { on, type, source } of found)
      assert.deepEqual(
        [on, type, source],
        ['fleet.control.acct.xrpusd', 'dev.hermes-fleet.control.rejected.v1', '/services/trader'],
      );
    const [head] = await read('fleet.audit.>', 1);
    assert.deepEqual([head?.on, head?.data], ['fleet.audit.trader', headOf(store)]);
    assert.equal(found.at(-1)?.data.audit_hash, store.head().hash);
    assert.deepEqual(
      [seen.published.length, new Set(seen.published), seen.ok.at(-1)],
      [20, new Set(['ok']), true],
    );
  },
);

test(
  'events of a broker outage are published afterwards, even after restarts of either side',
  deadline,
  async (t) => {
    const { server, read } = await bus(t);
    const control = controlFile(t, recordingLog());
    const store = control.open();
    await store.seed([], [CONCERN]);
    await rejectSome(store, 3);
    const first = connectTo(t, store, server.url);
    assert.equal(await first.control.relay?.flush(20_000), true);
    await server.kill();
    await first.log.saw(/interrupted/);
    while (first.control.relay?.state().connected) await systemClock.sleep(5);
    assert.match(first.control.relay?.state().lastError ?? '', /./);
    await rejectSome(store, 3);
    assert.equal(await first.control.relay?.flush(50), false);
    await first.control.close();
    await store.close();

    const again = control.open();
    await rejectSome(again, 3);
    const second = connectTo(t, again, server.url);
    await server.restart();
    assert.equal(await second.control.relay?.flush(30_000), true);
    const found = await read('fleet.control.>', 9);
    assert.deepEqual(
      found.map(({ id }) => id.replace(/.*:/, '')),
      ['1', '2', '3', '4', '5', '6', '7', '8', '9'],
    );
    const [head] = await read('fleet.audit.>', 1);
    assert.deepEqual(head?.data, headOf(again));
  },
);

test('a broken audit does not stop control events and is reported as broken', deadline, async (t) => {
  const { server, read } = await bus(t);
  const control = controlFile(t, recordingLog());
  const store = control.open();
  await store.seed([], [CONCERN]);
  await rejectSome(store, 3);
  const first = connectTo(t, store, server.url);
  assert.equal(await first.control.relay?.flush(20_000), true);
  await first.control.close();
  await store.close();
  control.tamper('DELETE FROM audit WHERE seq = 3');
  const again = control.open();
  const second = connectTo(t, again, server.url);
  await second.log.saw(/its head is no longer published/);
  await rejectSome(again, 2);
  assert.equal((await read('fleet.control.>', 5)).length, 5);
  assert.equal(second.control.audit.state().state, 'broken');
  assert.equal(second.seen.ok.at(-1), false);
  while (!second.control.relay?.state().connected) await systemClock.sleep(5);
});

test('without a broker only the audit is watched', deadline, async (t) => {
  const store = controlFile(t, recordingLog()).open();
  await store.seed([], [CONCERN]);
  const { control, log, seen } = connectTo(t, store, undefined);
  assert.equal(control.relay, undefined);
  await log.saw(/the audit is intact/);
  assert.deepEqual([control.audit.state().state, seen.ok], ['ok', [true]]);
  await control.close();
});
