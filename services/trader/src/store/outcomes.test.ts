import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import {
  applyOf,
  CONCERN,
  decided,
  failedFrom,
  kindsOf,
  openSeeded,
  payload,
  switchTo,
  TREND,
} from '../../testing/store/harness.ts';

test('an outcome joins the next transaction and is visible to its judgment', deadline, async (t) => {
  const { store, clock } = await openSeeded(t);
  const wish = switchTo(TREND);
  const written = await decided(store, wish);
  const { response } = written.verdict;
  const full = {
    ...response,
    result: { ...response.result, canceledOrders: 3, inheritedPosition: '12.5' },
  };
  const settled = store.settle(applyOf(written), full);
  assert.equal(store.openApplies().length, 1);
  const copy = await decided(store, wish);
  await settled;
  assert.equal(copy.verdict.response.result.canceledOrders, 3);
  assert.equal(copy.verdict.response.result.inheritedPosition, '12.5');
  assert.deepEqual(kindsOf(store), ['seed', 'attempt applied', 'outcome applied', 'attempt noop']);
  const [outcome] = store.audit(2, 1);
  const result = {
    mode_change: 'applied',
    reconciled: true,
    canceled_orders: 3,
    inherited_position: '12.5',
  };
  const at = new Date(clock.now()).toISOString();
  assert.deepEqual(outcome?.record, { kind: 'outcome', at, of: 2, outcome: 'applied', result });
  assert.deepEqual(store.openApplies(), []);
  const again = store.settle(applyOf(written), full);
  clock.advance(20);
  await again;
  assert.equal(clock.timers, 0);
  assert.equal(store.head().seq, 4);
});

test('an outcome without a following transaction is written by itself', deadline, async (t) => {
  const { store, clock } = await openSeeded(t);
  const written = await decided(store, switchTo(TREND));
  const settled = store.settle(applyOf(written), written.verdict.response);
  clock.advance(20);
  await settled;
  assert.deepEqual(store.openApplies(), []);
});

test('a failed apply is rolled back under the next revision and may be retried', deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  const before = store.concern(CONCERN.id);
  assert.ok(before);
  const wish = switchTo(TREND, { decision_id: 'd1', risk_mode: 'halted' });
  const written = await decided(store, wish);
  const failed = failedFrom(written.verdict.response);
  const restored = await store.compensate(applyOf(written), before, failed);
  assert.deepEqual(restored, { ...before, rev: 2 });
  assert.deepEqual(store.concern(CONCERN.id), restored);
  assert.deepEqual(store.openApplies(), []);
  assert.deepEqual(
    store.outbox.read(0, 10).map(({ event }) => [event.type, event.subject, event.data['codes']]),
    [
      ['dev.hermes-fleet.control.applied.v1', 'd1', []],
      ['dev.hermes-fleet.control.failed.v1', 'd1', ['activation_failed']],
    ],
  );
  await assert.rejects(store.compensate(applyOf(written), before, failed), { code: 'INTERNAL' });
  const again = await reopen();
  assert.equal(again.decisions(CONCERN.id, 1)[0]?.response.status, 'failed');
  const retried = await decided(again, wish);
  assert.equal(retried.verdict.response.status, 'applied');
  assert.deepEqual(
    again.openApplies().map(({ auditSeq }) => auditSeq),
    [retried.auditSeq],
  );
  assert.equal(again.decisions(CONCERN.id, 10).length, 1);
});

test('applies without an outcome are listed oldest first', deadline, async (t) => {
  const { store, reopen } = await openSeeded(t);
  const first = await decided(store, payload({ decision_id: 'b' }));
  const second = await decided(store, payload({ decision_id: 'a', action: 'resume' }));
  const again = await reopen();
  assert.partialDeepStrictEqual(again.openApplies(), [applyOf(first), applyOf(second)]);
  assert.deepEqual(
    again.decisions(CONCERN.id, 1).map(({ decisionId }) => decisionId),
    ['a'],
  );
});
