import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { limit, NOON, SECOND, watched } from '../../testing/breakers/watched.ts';
import { CONCERN, POLICY } from '../../testing/control/decisions.ts';
import { BITCOIN } from '../../testing/control/harness.ts';

const deadline = { timeout: 60_000 };

test(
  'a loss of the day beyond its limit pauses the concern, once, as an audited decision of the caller breaker',
  deadline,
  async (t) => {
    const run = await watched(t, { daily_loss: limit('50') });
    await run.bar({ change: '-50' });
    assert.equal(run.concern()?.runState, 'running');
    await run.bar({ change: '-1' });
    assert.equal(run.concern()?.runState, 'paused');
    await run.bar({ change: '-100' });
    const [record, ...more] = run.decided();
    assert.deepEqual(more, []);
    assert.deepEqual([record?.['door'], record?.['status']], ['internal', 'applied']);
    const decision: JsonObject = JSON.parse(String(record?.['text']));
    assert.match(String(decision['decision_id']), new RegExp(`^breaker:${CONCERN.id}:daily_loss:`));
    assert.equal(decision['reason'], 'the loss of the day is 51, above 50');
    assert.deepEqual(run.trips, [`${CONCERN.id} daily_loss`]);
    await run.assertSound();
  },
);

test('who resumes gets the whole limit again, and so does a new day', deadline, async (t) => {
  const run = await watched(t, { daily_loss: limit('50') });
  await run.bar({ change: '-60' });
  assert.equal(await run.ask({ action: 'resume' }), 'applied');
  await run.bar({ change: '-40' });
  assert.equal(run.concern()?.runState, 'running');
  await run.bar({ at: NOON + 86_400_000, change: '-40' });
  assert.equal(run.concern()?.runState, 'running', 'a new day');
  await run.bar({ change: '-20' });
  assert.equal(run.concern()?.runState, 'paused');
  assert.equal(run.decided().length, 2);
});

test('a decision that is not of a breaker does not give the limit again', deadline, async (t) => {
  const run = await watched(t, { daily_loss: limit('50') });
  await run.bar({ change: '-40' });
  await run.ask({ action: 'set_risk_mode', riskMode: 'cautious' });
  await run.bar({ change: '-20' });
  assert.equal(run.concern()?.runState, 'paused');
});

test('an account that was reset begins without losses', deadline, async (t) => {
  const run = await watched(t, { daily_loss: limit('50'), drawdown: limit('0.1') });
  await run.bar({ change: '0' });
  await run.bar({ change: '-45' });
  await run.bar({ change: '0', isFirst: true });
  await run.bar({ change: '-10' });
  assert.equal(run.concern()?.runState, 'running');
});

test(
  'a drawdown sets its risk mode, and the strictest of several breakers comes first',
  deadline,
  async (t) => {
    const run = await watched(t, { daily_loss: limit('100'), drawdown: limit('0.1', 'halted') });
    await run.bar({ change: '500' });
    await run.bar({ change: '-160' });
    assert.deepEqual([run.concern()?.riskMode, run.concern()?.runState], ['halted', 'running']);
    assert.match(
      String(JSON.parse(String(run.decided()[0]?.['text'])).reason),
      /^the drawdown is 0\.1067, above 0\.1$/,
    );
    const after = run.concern();
    assert.equal(after?.riskMode, 'halted');
  },
);

test('a concern without an active strategy has nothing to pause', deadline, async (t) => {
  const run = await watched(t, { daily_loss: limit('50') }, {}, { concern: { activeStrategyId: null } });
  for (let times = 0; times < 3; times += 1) {
    await run.bar({ change: '-60', strategyId: null });
    await run.pass(31_000);
  }
  assert.deepEqual(run.decided(), []);
  assert.deepEqual(run.trips, []);
});

test('the loss of a strategy counts from when it became active', deadline, async (t) => {
  const run = await watched(t, { strategy_loss: limit('50', 'reduce_only') });
  await run.bar({ change: '-40', strategyId: 'grid' });
  await run.bar({ change: '-40', strategyId: 'trend' });
  assert.equal(run.concern()?.riskMode, CONCERN.riskMode);
  await run.bar({ change: '-20', strategyId: 'trend' });
  assert.equal(run.concern()?.riskMode, 'reduce_only');
});

test('orders count over the last minute', deadline, async (t) => {
  const run = await watched(t, { orders_per_minute: { limit: 10, action: 'pause' } });
  await run.bar({ at: NOON, placed: 6 });
  await run.bar({ at: NOON + 60_000, placed: 6 });
  assert.equal(run.concern()?.runState, 'running');
  await run.bar({ at: NOON + 61_000, placed: 5 });
  assert.equal(run.concern()?.runState, 'paused');
});

test('a price that is stale pauses, and again only after a while', deadline, async (t) => {
  const run = await watched(t, { stale_price: { after_s: 20, action: 'pause' } });
  run.start();
  await run.pass(15_000);
  await run.bar({});
  for (let s = 0; s < 20; s += 1) await run.pass(SECOND);
  assert.equal(run.concern()?.runState, 'running');
  for (let s = 0; s < 3; s += 1) await run.pass(SECOND);
  assert.equal(run.concern()?.runState, 'paused');
  assert.match(String(run.decided()[0]?.['text']), /no bar came for 21 s, longer than 20 s/);
  await run.ask({ action: 'resume', override: true });
  for (let s = 0; s < 20; s += 1) await run.pass(SECOND);
  assert.equal(run.concern()?.runState, 'running');
  for (let s = 0; s < 15; s += 1) await run.pass(SECOND);
  assert.equal(run.concern()?.runState, 'paused');
});

test('a price is not stale for want of a disk that takes its bars', deadline, async (t) => {
  const run = await watched(t, { stale_price: { after_s: 20, action: 'pause' } });
  run.start();
  run.unsaved.add(CONCERN.id);
  for (let s = 0; s < 40; s += 1) await run.pass(SECOND);
  assert.deepEqual(run.decided(), []);
  run.unsaved.clear();
  for (let s = 0; s < 2; s += 1) await run.pass(SECOND);
  assert.equal(run.concern()?.runState, 'paused', 'there was no bar after that');
});

test(
  'a breaker decides while execution is degraded, also where the policy refuses every decision',
  deadline,
  async (t) => {
    const policy = { ...POLICY, strictDegraded: true };
    const run = await watched(t, { daily_loss: limit('50') }, {}, { policy });
    run.runtime.degraded.add(CONCERN.id);
    await run.bar({ change: '-60' });
    assert.equal(run.concern()?.runState, 'paused');
    assert.deepEqual(
      run.decided().map(({ status }) => status),
      ['applied'],
    );
  },
);

test('a breaker takes nothing back that is decided at the same time', deadline, async (t) => {
  const run = await watched(t, { daily_loss: limit('50', 'reduce_only') });
  const halted = run.ask({ action: 'set_risk_mode', riskMode: 'halted' });
  await run.bar({ change: '-60' });
  assert.equal(await halted, 'applied');
  await run.pass(0);
  assert.equal(run.concern()?.riskMode, 'halted');
  assert.deepEqual(
    run.decided().map(({ status }) => status),
    ['noop'],
  );
  assert.deepEqual(run.trips, []);
  assert.deepEqual(
    run.log.messages.filter((message) => /breaker/.test(message)),
    [],
  );
  await run.assertSound();
});

test('the limits of an account count all its concerns, and restrict all', deadline, async (t) => {
  const run = await watched(t, {}, { [CONCERN.accountId]: { daily_loss: limit('50') } });
  assert.equal(BITCOIN.accountId, CONCERN.accountId);
  await run.bar({ change: '0', of: BITCOIN.id });
  await run.bar({ change: '-30' });
  assert.equal(run.concern()?.runState, 'running');
  await run.bar({ change: '-30', of: BITCOIN.id });
  assert.deepEqual([run.concern()?.runState, run.concern(BITCOIN.id)?.runState], ['paused', 'paused']);
});

test('the concerns of an account may follow feeds of different times', deadline, async (t) => {
  const run = await watched(
    t,
    {},
    { [CONCERN.accountId]: { daily_loss: limit('50'), orders_per_minute: { limit: 10, action: 'halted' } } },
  );
  const past = NOON - 400 * 86_400_000;
  for (let n = 0; n < 6; n += 1) {
    assert.equal(run.concern()?.runState, 'running', `after ${n}`);
    await run.bar({ at: NOON + n * SECOND, change: '-5' });
    await run.bar({ at: past + n * SECOND, change: '-5', of: BITCOIN.id });
  }
  assert.deepEqual([run.concern()?.runState, run.concern(BITCOIN.id)?.runState], ['paused', 'paused']);
  await run.bar({ at: NOON + 7 * SECOND, placed: 6 });
  await run.bar({ at: past + 7 * SECOND, placed: 6, of: BITCOIN.id });
  assert.equal(run.concern()?.riskMode, 'halted');
});

test(
  'stored bars count but trip nothing, nor does a bar from before the latest decision',
  deadline,
  async (t) => {
    const run = await watched(t, { daily_loss: limit('50') });
    await run.bar({ change: '-45', isLive: false });
    await run.bar({ change: '-10', isLive: false });
    assert.equal(run.concern()?.runState, 'running');
    await run.ask({ action: 'set_risk_mode', riskMode: 'cautious' });
    await run.bar({ decisionId: null });
    assert.equal(run.concern()?.runState, 'running');
    await run.bar({});
    assert.equal(run.concern()?.runState, 'paused');
  },
);

test(
  'a decision that cannot be written is in effect, and is made again after a while',
  deadline,
  async (t) => {
    const run = await watched(t, { daily_loss: limit('50') });
    run.store.faults.set('decide', 'refuses').set('refuse', 'refuses');
    await run.bar({ change: '-60' });
    await run.bar({});
    assert.deepEqual(run.trips, []);
    assert.equal(run.runtime.holds.get(`${CONCERN.id} unwritten`)?.runState, 'paused');
    const told = run.log.messages.filter((message) =>
      /its decision is in effect, but not written/.test(message),
    );
    assert.equal(told.length, 1);
    run.store.faults.clear();
    await run.pass(5_000);
    assert.equal(run.concern()?.runState, 'paused');
    assert.equal(run.decided().length, 1);
  },
);
