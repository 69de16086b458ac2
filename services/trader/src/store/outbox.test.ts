import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CloudEvent } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import {
  applyOf,
  CONCERN,
  decided,
  failedFrom,
  GRID,
  never,
  openSeeded,
  openTestStore,
  payload,
  strategy,
  switchTo,
  TREND,
} from '../../testing/store/harness.ts';

test('a decision becomes a CloudEvent without its reason', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const wish = switchTo(TREND, { decision_id: 'd1', reason: 'the secret reason' });
  const { auditSeq } = await decided(store, wish, { traceparent });
  await decided(store, switchTo('none', { decision_id: 'd2', dry_run: true }));
  const events = store.outbox.read(0, 10);
  for (const { event } of events) CloudEvent.parse(event);
  assert.deepEqual(events[0], {
    seq: 1,
    subject: 'fleet.control.qndd8o9ppop6.xrpusd',
    event: {
      specversion: '1.0',
      id: `trader:${store.id}:1`,
      source: '/services/trader',
      type: 'dev.hermes-fleet.control.applied.v1',
      subject: 'd1',
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      traceparent,
      data: {
        concern_id: CONCERN.id,
        action: 'switch',
        status: 'applied',
        codes: [],
        dry_run: false,
        from_strategy_id: GRID,
        to_strategy_id: TREND,
        risk_mode: 'normal',
        run_state: 'running',
        caller: 'operator',
        audit_seq: auditSeq,
        audit_hash: store.audit(auditSeq - 1, 1)[0]?.hash,
      },
    },
  });
  assert.ok(!JSON.stringify(events).includes('secret'));
  assert.deepEqual(
    [events[1]?.event.type, events[1]?.event.data['codes'], events[1]?.event.data['dry_run']],
    ['dev.hermes-fleet.control.rejected.v1', ['target_not_found'], true],
  );
  assert.ok(events[1] && !('traceparent' in events[1].event));
});

test('judged attempts, conflicts and compensations are published; copies are not', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const [applied, rejected] = [switchTo(TREND), switchTo('none')];
  const before = store.concern(CONCERN.id);
  const written = await decided(store, applied);
  await decided(store, applied);
  await decided(store, rejected);
  await decided(store, rejected);
  await decided(store, { ...rejected, reason: 'another' });
  assert.ok(before);
  await store.compensate(applyOf(written), before, failedFrom(written.verdict.response));
  await decided(store, applied);
  assert.deepEqual(
    store.outbox.read(0, 100).map(({ event }) => event.data['status']),
    ['applied', 'rejected', 'rejected', 'failed', 'applied'],
  );
});

test(
  'invalid characters of a subject are replaced, and an unknown concern has a fixed subject',
  deadline,
  async (t) => {
    const { store } = openTestStore(t);
    const scope = { accountId: 'a.b *>', marketSymbol: 'xrp/usd\u00e9' };
    const id = 'a.b *>:xrp/usd\u00e9';
    await store.seed([strategy(scope)], [{ ...CONCERN, ...scope, id }]);
    const wish = payload({ concern_id: id, account_id: scope.accountId, market_symbol: scope.marketSymbol });
    await decided(store, wish);
    await decided(store, payload({ concern_id: 'x.>:*' }));
    assert.deepEqual(
      store.outbox.read(0, 10).map(({ subject }) => subject),
      ['fleet.control.a_b___.xrp_usd_', 'fleet.control.unknown.unknown'],
    );
  },
);

test(
  'the cursor only moves forward, outlives a restart, and events are kept for thirty days',
  deadline,
  async (t) => {
    const { store, clock, reopen } = await openSeeded(t);
    assert.deepEqual(store.outbox.backlog(), { count: 0, oldestAgeMs: 0 });
    for (let n = 0; n < 5; n += 1) {
      await decided(store, payload());
      clock.advance(10);
    }
    assert.deepEqual(store.outbox.backlog(), { count: 5, oldestAgeMs: 50 });
    const both = [store.outbox.advance(3), store.outbox.advance(2)];
    clock.advance(20);
    await Promise.all(both);
    await store.outbox.advance(1);
    assert.equal(store.outbox.cursor(), 3);
    assert.deepEqual(store.outbox.backlog(), { count: 2, oldestAgeMs: 40 });
    assert.deepEqual(
      store.outbox.read(0, 10).map(({ seq }) => seq),
      [1, 2, 3, 4, 5],
    );
    await assert.rejects(store.outbox.advance(6), { message: /cannot advance to 6: its newest event is 5/ });
    const again = await reopen();
    assert.equal(again.outbox.cursor(), 3);
    const last = again.outbox.advance(5);
    await decided(again, payload());
    await last;
    assert.deepEqual(
      again.outbox.read(5, 10).map(({ seq, event }) => [seq, event.id]),
      [[6, `trader:${again.id}:6`]],
    );
    assert.equal(again.outbox.backlog().count, 1);
    clock.advance(31 * 24 * 60 * 60 * 1000);
    const old = again.outbox.advance(6);
    await decided(again, payload());
    await old;
    assert.deepEqual(
      again.outbox.read(0, 10).map(({ seq }) => seq),
      [7],
    );
  },
);

test('a wait ends with the next event or with its signal', deadline, async (t) => {
  const { store } = await openSeeded(t);
  const news = store.outbox.wait(0, never);
  await decided(store, payload());
  await news;
  await store.outbox.wait(0, never);
  const controller = new AbortController();
  const waiting = store.outbox.wait(1, controller.signal);
  const reason = new Error('relay closed');
  controller.abort(reason);
  await assert.rejects(waiting, reason);
});
