import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControlResponse } from '@hermes-fleet/protocol/control';
import { deadline } from '@hermes-fleet/protocol/testing';
import { CONCERN, outcomeOf, type Request, to } from '../../testing/control/decisions.ts';
import { openDecisionService, type TestDecisionService, textOf } from '../../testing/control/harness.ts';

const tally = (outcomes: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(outcomes)].sort().map((each) => [each, outcomes.filter((o) => o === each).length]),
  );

const attempts = (test: TestDecisionService): number =>
  test.kinds().filter((kind) => kind.startsWith('attempt')).length;

const risk = (riskMode: 'normal' | 'cautious' | 'reduce_only' | 'halted'): Request => ({
  action: 'set_risk_mode',
  riskMode,
});

test(
  'a hundred copies of a decision: one is applied, 99 are noop, 100 attempts are audited',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    const text = textOf(to('grid'));
    const answers = await Promise.all(Array.from({ length: 100 }, () => test.send(text)));
    assert.deepEqual(tally(answers.map(({ response }) => outcomeOf(response))), {
      applied: 1,
      'noop !duplicate_decision': 99,
    });
    const results = new Set(answers.map(({ response }) => JSON.stringify(response.result)));
    assert.equal(results.size, 1, 'a copy gets the outcome of the first, also what it canceled');
    assert.equal(test.concern()?.rev, 1);
    assert.equal(test.runtime.calls, 3 + 1);
    await test.assertSound();
    assert.equal(attempts(test), 100);
  },
);

test('two rivals with the same expectation: one is applied, one is a mismatch', deadline, async (t) => {
  const test = await openDecisionService(t);
  const rivals: Request[] = [to('grid'), { ...to('trend'), riskMode: 'cautious' }];
  const outcomes = await Promise.all(rivals.map((rival) => test.ask(rival)));
  assert.deepEqual(outcomes, ['applied', 'rejected expected_active_mismatch']);
  assert.equal(test.concern()?.activeStrategyId, 'grid');
  await test.assertSound();
  assert.deepEqual(test.kinds().slice(1), ['attempt applied', 'outcome applied', 'attempt rejected']);
});

test('of a hundred rivals one is applied', deadline, async (t) => {
  const test = await openDecisionService(t);
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => test.ask(to('grid'))));
  assert.deepEqual(tally(outcomes), { applied: 1, 'rejected expected_active_mismatch': 99 });
  assert.equal(test.concern()?.rev, 1);
  await test.assertSound();
  assert.equal(attempts(test), 100);
});

test('applicable decisions are applied one at a time in the order of their arrival', deadline, async (t) => {
  const test = await openDecisionService(t);
  const modes = ['cautious', 'reduce_only', 'halted', 'normal'] as const;
  const wishes = Array.from({ length: 80 }, (_, at) => risk(modes[at % 4] ?? 'normal'));
  const answers = await Promise.all(wishes.map((wish) => test.send(textOf(wish))));
  assert.deepEqual(tally(answers.map(({ response }) => outcomeOf(response))), { applied: 80 });
  const applied = test.audit().filter(({ record }) => record['status'] === 'applied');
  const order = answers.map(({ response }) => response.decisionId);
  const inAudit = applied.map(({ record }) => JSON.parse(String(record['text'])).decision_id);
  assert.deepEqual(inAudit, order);
  assert.deepEqual([test.concern()?.rev, test.concern()?.riskMode], [80, 'normal']);
  await test.assertSound();
});

test('an activation blocks its own concern only', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.runtime.fate.push('hangs');
  const first = test.ask(to('grid'));
  await test.runtime.hanging(1);
  const second = test.ask({ ...risk('halted'), expectedActiveStrategyId: 'grid' });
  const dry = test.ask({ dryRun: true, expectedActiveStrategyId: 'grid' });
  const other = { concernId: 'acc:btcusd', marketSymbol: 'btcusd', expectedActiveStrategyId: 'foreign' };
  assert.equal(await test.ask(other), 'applied');
  assert.equal(attempts(test), 2);
  test.runtime.release();
  assert.deepEqual(await Promise.all([first, second, dry]), ['applied', 'applied', 'noop']);
  await test.assertSound();
});

test('an attempt that waits too long is refused, and a pause gets its turn', deadline, async (t) => {
  const test = await openDecisionService(t);
  const wishes = ['cautious', 'reduce_only', 'halted', 'cautious'] as const;
  for (const _ of wishes) test.runtime.fate.push('hangs', 'works', 'works');
  const answers = wishes.map((mode) => test.send(textOf(risk(mode))));
  const pause = test.ask({});
  for (const hung of [1, 2, 3]) {
    await test.runtime.hanging(hung);
    test.clock.advance(5000);
  }
  const late = await answers[3];
  assert.deepEqual(
    [late?.httpStatus, late?.retryAfterS, outcomeOf(late?.response as ControlResponse)],
    [429, 5, 'rejected rate_limited'],
  );
  test.runtime.fate.length = 0;
  assert.equal(await pause, 'applied');
  assert.equal(test.concern(CONCERN.id)?.runState, 'paused');
  const outcomes = (await Promise.all(answers)).map(({ response }) => outcomeOf(response));
  assert.deepEqual(outcomes.slice(0, 3), Array(3).fill('failed activation_failed'));
  test.runtime.release();
  await test.assertSound();
});
