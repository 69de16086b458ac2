import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { CONCERN, to } from '../../testing/control/decisions.ts';
import { fill, HALT, holdOf, RETRY_MS, repair, stateOf } from '../../testing/control/full-disk.ts';
import { openDecisionService, textOf } from '../../testing/control/harness.ts';

test(
  'a restart before that comes up paused, in the mode that was asked for, and its audit says why',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    await trader.ask(HALT);
    const again = await trader.restart();
    assert.deepEqual(stateOf(again), { runState: 'paused', riskMode: 'halted' });
    assert.deepEqual(again.runtime.does.get(CONCERN.id), {
      activeStrategyId: 'trend',
      runState: 'paused',
      riskMode: 'halted',
    });
    assert.equal(again.runtime.holds.size, 0);
    assert.equal(again.kinds().at(-1), 'hold');
    assert.match(String(again.audit().at(-1)?.record['reason']), /could not be saved/);
    assert.equal(await again.ask({ action: 'resume' }), 'applied');
    await again.assertSound();
  },
);

test('a pause restarts paused, and keeps the risk mode', deadline, async (t) => {
  const trader = await openDecisionService(t, { concern: { riskMode: 'cautious' } });
  fill(trader);
  await trader.ask({});
  const again = await trader.restart();
  assert.deepEqual(stateOf(again), { runState: 'paused', riskMode: 'cautious' });
  await again.assertSound();
});

test('an answer says if a restart would not know of the hold', deadline, async (t) => {
  const trader = await openDecisionService(t);
  fill(trader);
  rmSync(trader.marksDir, { recursive: true });
  const { response } = await trader.send(textOf(HALT));
  assert.match(response.errors[0]?.message ?? '', /in effect nevertheless.*a restart before that loses it/);
  assert.equal(response.result.effect, 'held');
});

test(
  'a start holds once: what an operator resumes stays resumed, although the engine failed at first',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    await trader.ask(HALT);
    const again = await trader.restart('fails', 'fails');
    for (const _ of [1, 2]) await again.pass(RETRY_MS);
    assert.deepEqual(stateOf(again), { runState: 'paused', riskMode: 'halted' });
    assert.equal(await again.ask({ action: 'resume' }), 'applied');
    assert.equal(await again.ask({ action: 'set_risk_mode', riskMode: 'normal' }), 'applied');
    for (const _ of [1, 2]) await again.pass(RETRY_MS);
    assert.deepEqual(stateOf(again), { runState: 'running', riskMode: 'normal' });
    assert.equal(again.kinds().filter((kind) => kind === 'hold').length, 1);
    await again.assertSound();
  },
);

test('no decision is made before the hold of a start is written', deadline, async (t) => {
  const trader = await openDecisionService(t);
  fill(trader);
  await trader.ask({ action: 'set_risk_mode', riskMode: 'cautious' });
  const again = await trader.restartWhile('hold', 'refuses');
  assert.deepEqual(holdOf(again), { runState: 'paused', riskMode: 'cautious' });
  assert.equal(await again.ask({ action: 'resume' }), 'failed store_unavailable');
  assert.equal(again.marked(), 'cautious');
  repair(again);
  assert.equal(await again.ask({ action: 'resume' }), 'applied');
  assert.deepEqual(stateOf(again), { runState: 'running', riskMode: 'cautious' });
  assert.equal(again.marked(), undefined);
  await again.assertSound();
});

test(
  'a start whose engine fails blocks no decision: one that goes around it is made',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    await trader.ask(HALT);
    const again = await trader.restart(...Array(4).fill('fails'));
    assert.deepEqual(stateOf(again), { runState: 'paused', riskMode: 'halted' });
    assert.deepEqual(holdOf(again), { runState: 'paused', riskMode: 'halted' });
    const around = { ...to('grid'), override: true };
    assert.match(await again.ask(around), /^applied/);
    for (const _ of [1, 2]) await again.pass(RETRY_MS);
    await again.assertSound();
  },
);

test('a decision that a crash cut off before a held start keeps its canceled orders', deadline, async (t) => {
  const trader = await openDecisionService(t);
  const cut = textOf(to('grid'));
  trader.runtime.fate.push('hangs');
  void trader.send(cut);
  await trader.runtime.hanging(1);
  rmSync(join(trader.marksDir, CONCERN.id, 'normal'));
  const again = await trader.restart();
  const outcome = again.audit().find(({ record }) => record['kind'] === 'outcome')?.record;
  assert.equal(Object(outcome?.['result'])['canceled_orders'], 2);
  assert.deepEqual(stateOf(again), { runState: 'paused', riskMode: 'normal' });
  await again.assertSound();
});
