import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { CONCERN, outcomeOf, to } from '../../testing/control/decisions.ts';
import { openDecisionService, textOf } from '../../testing/control/harness.ts';

test('after a crash the runtime matches the stored state: a pause stays a pause', deadline, async (t) => {
  const before = await openDecisionService(t);
  assert.equal(await before.ask({}), 'applied');
  assert.equal(await before.ask({ ...to('grid'), riskMode: 'reduce_only' }), 'applied !stays_paused');
  const after = await before.restart();
  const expected = { activeStrategyId: 'grid', runState: 'paused', riskMode: 'reduce_only' };
  assert.deepEqual(after.runtime.does.get(CONCERN.id), expected);
  await after.assertSound();
});

test('an interrupted apply is completed, and its copies get the result', deadline, async (t) => {
  const before = await openDecisionService(t);
  const text = textOf(to('grid'));
  before.runtime.fate.push('hangs');
  void before.send(text);
  await before.runtime.hanging(1);
  const after = await before.restart();
  assert.deepEqual(after.kinds(), ['seed', 'attempt applied', 'outcome applied']);
  await after.assertSound();
  const copy = await after.send(text);
  assert.equal(outcomeOf(copy.response), 'noop !duplicate_decision');
  assert.equal(copy.response.result.canceledOrders, 2);
});

test(
  'a failed activation at the start is retried, and the concern counts as degraded',
  deadline,
  async (t) => {
    const before = await openDecisionService(t);
    before.runtime.fate.push('hangs');
    void before.ask(to('grid'));
    await before.runtime.hanging(1);
    const after = await before.restart('fails', 'fails', 'fails');
    assert.equal(after.store.openApplies().length, 1);
    const wish = { ...to('trend'), expectedActiveStrategyId: 'grid' };
    assert.equal(await after.ask({ ...wish, dryRun: true }), 'rejected execution_degraded');
    await after.pass(5000);
    await after.assertSound();
    assert.equal(await after.ask(wish), 'applied');
  },
);

test('a decision applied during recovery has its own outcome', deadline, async (t) => {
  const before = await openDecisionService(t);
  before.runtime.fate.push('hangs');
  void before.ask(to('grid'));
  await before.runtime.hanging(1);
  const after = await before.restart('fails', 'fails', 'fails', 'hangs');
  const pause = after.ask({ expectedActiveStrategyId: 'grid' });
  await after.runtime.hanging(1);
  await after.pass(5000);
  assert.equal(await pause, 'failed activation_failed !allowed_while_degraded');
  assert.deepEqual([after.concern()?.runState, after.concern()?.activeStrategyId], ['running', 'grid']);
  await after.assertSound();
  const outcomes = after.kinds().filter((kind) => kind.startsWith('outcome'));
  assert.deepEqual(outcomes.sort(), ['outcome applied', 'outcome compensated']);
});
