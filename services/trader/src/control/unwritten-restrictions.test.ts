import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FleetError } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import { at, CONCERN, outcomeOf, type Request, to } from '../../testing/control/decisions.ts';
import { fill, HALT, holdOf, NO_HOLD, RETRY_MS, repair, stateOf } from '../../testing/control/full-disk.ts';
import {
  BITCOIN,
  freshId,
  openDecisionService,
  type TestDecisionService,
  textOf,
} from '../../testing/control/harness.ts';
import { refusal } from './screening.ts';

const ANSWER = refusal(undefined, [{ code: 'forbidden', message: 'no' }]).response;

/** The status, and the effect and the state that the answer tells. */
async function answered(trader: TestDecisionService, request: Request): Promise<unknown> {
  const { response } = await trader.send(textOf(request));
  return [outcomeOf(response), response.result.effect, response.riskMode];
}

test(
  'a pause and a lower risk mode take effect although the disk is full, and are written when it is not',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    assert.deepEqual(await answered(trader, {}), ['failed store_unavailable', 'held', 'normal']);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'normal' });
    assert.deepEqual(await answered(trader, HALT), ['failed store_unavailable', 'held', 'normal']);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'halted' });
    assert.equal(trader.marked(), 'halted');
    assert.deepEqual(stateOf(trader), { runState: 'running', riskMode: 'normal' });
    await trader.pass(RETRY_MS);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'halted' });

    repair(trader);
    await trader.pass(RETRY_MS);
    await trader.pass(0);
    assert.deepEqual(stateOf(trader), { runState: 'paused', riskMode: 'halted' });
    assert.deepEqual([holdOf(trader), trader.marked()], [NO_HOLD, undefined]);
    assert.deepEqual(trader.kinds(), [
      'seed',
      ...Array(2).fill(['attempt applied', 'outcome applied']).flat(),
    ]);
    await trader.assertSound();
  },
);

test('what raises risk, or is rejected, or only asks, has no effect on a full disk', deadline, async (t) => {
  const trader = await openDecisionService(t, { concern: { runState: 'paused', riskMode: 'cautious' } });
  fill(trader);
  for (const request of [
    { action: 'resume' },
    to('grid'),
    { action: 'set_risk_mode', riskMode: 'normal' },
    { ...HALT, dryRun: true },
    { ...HALT, expectedActiveStrategyId: 'grid' },
    {},
  ] satisfies Request[]) {
    const { response } = await trader.send(textOf(request));
    assert.deepEqual(
      [response.status, response.result.effect],
      ['failed', undefined],
      JSON.stringify(request),
    );
  }
  assert.deepEqual([holdOf(trader), trader.marked()], [NO_HOLD, undefined]);
});

test(
  'what is in effect is written before the next decision is made, however old it is',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    const pause = textOf({ decisionId: freshId(), ...at(0) });
    fill(trader);
    assert.equal(outcomeOf((await trader.send(pause)).response), 'failed store_unavailable');
    assert.equal(outcomeOf((await trader.send(pause)).response), 'failed store_unavailable');
    assert.equal(await trader.ask({ action: 'resume' }), 'failed store_unavailable');
    await trader.pass(400_000);
    repair(trader);
    assert.equal(await trader.ask({ action: 'resume' }), 'applied');
    assert.equal(outcomeOf((await trader.send(pause)).response), 'noop !duplicate_decision');
    assert.deepEqual(stateOf(trader), { runState: 'running', riskMode: 'normal' });
    assert.deepEqual(holdOf(trader), NO_HOLD);
    const texts = trader
      .audit()
      .flatMap(({ record }) => (record['kind'] === 'attempt' ? [record['status']] : []));
    assert.deepEqual(texts, ['applied', 'applied', 'noop']);
    await trader.assertSound();
  },
);

test(
  'without a readable store nothing takes effect, and the answer does not claim it',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    trader.store.faults.set('decide', 'refuses');
    trader.store.faults.set('read', 'refuses');
    const { response } = await trader.send(textOf({}));
    assert.deepEqual([response.status, response.result.effect], ['failed', undefined]);
    assert.deepEqual(holdOf(trader), NO_HOLD);
  },
);

test(
  'a pause takes effect while a rollback cannot be written, and is written after it',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    trader.store.faults.set('compensate', 'refuses');
    trader.runtime.fate.push('fails');
    assert.equal(await trader.ask(to('grid')), 'failed activation_failed store_unavailable');
    assert.deepEqual(await answered(trader, {}), ['failed store_unavailable', 'held', 'normal']);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'normal' });
    repair(trader);
    await trader.pass(RETRY_MS);
    await trader.pass(RETRY_MS);
    assert.deepEqual(stateOf(trader), { runState: 'paused', riskMode: 'normal' });
    assert.equal(trader.concern()?.activeStrategyId, 'trend');
    assert.deepEqual(holdOf(trader), NO_HOLD);
    await trader.assertSound();
  },
);

test(
  'a decision is judged on what is in effect: none takes back what waits to be written',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    const halt = textOf({ ...HALT, decisionId: freshId() });
    assert.equal((await trader.send(halt)).response.result.effect, 'held');
    const softer: Request = { action: 'set_risk_mode', riskMode: 'cautious' };
    assert.deepEqual(await answered(trader, softer), ['failed store_unavailable', undefined, 'normal']);
    const { response } = await trader.send(halt);
    assert.equal(response.result.effect, 'held');
    assert.match(
      response.errors[0]?.message ?? '',
      /in effect already, by a decision that is not written yet/,
    );
    repair(trader);
    await trader.pass(RETRY_MS);
    assert.deepEqual(stateOf(trader), { runState: 'running', riskMode: 'halted' });
    assert.deepEqual(trader.kinds(), ['seed', 'attempt applied', 'outcome applied']);
    await trader.assertSound();
  },
);

test('an id that waits to be written holds nothing else, at its concern or another', deadline, async (t) => {
  const trader = await openDecisionService(t);
  fill(trader);
  const decisionId = freshId();
  await trader.send(textOf({ action: 'set_risk_mode', riskMode: 'reduce_only', decisionId }));
  assert.deepEqual(await answered(trader, { ...HALT, decisionId }), [
    'failed store_unavailable',
    undefined,
    'normal',
  ]);
  const elsewhere = { ...BITCOIN, expectedActiveStrategyId: 'foreign', decisionId };
  const { response } = await trader.send(textOf({ ...elsewhere, concernId: BITCOIN.id }));
  assert.equal(response.result.effect, undefined);
  repair(trader);
  await trader.pass(RETRY_MS);
  assert.deepEqual(stateOf(trader), { runState: 'running', riskMode: 'reduce_only' });
  assert.equal(await trader.ask(HALT), 'applied');
  await trader.assertSound();
});

test(
  'an effect whose decision is rejected when it is written is kept by a hold, and nothing loops',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    await trader.ask({ decisionId: 'twice' });
    repair(trader);
    // The store knows the id for another payload by now.
    const { decide } = trader.store;
    trader.store.decide = (attempt, wanted, judge) =>
      decide(attempt, wanted, (facts) =>
        judge({ ...facts, previous: { fingerprint: 'another', response: ANSWER } }),
      );
    await trader.pass(RETRY_MS);
    trader.store.decide = decide;
    await trader.pass(4 * RETRY_MS);
    assert.deepEqual(stateOf(trader), { runState: 'paused', riskMode: 'normal' });
    assert.deepEqual([holdOf(trader), trader.marked()], [NO_HOLD, undefined]);
    assert.deepEqual(
      trader.kinds().filter((kind) => kind === 'hold' || kind === 'attempt rejected'),
      ['attempt rejected', 'hold'],
    );
    assert.equal(await trader.ask({ action: 'resume' }), 'applied');
    await trader.assertSound();
  },
);

test(
  'a pause that is on disk although the store reported a failure reaches the engine',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    trader.store.faults.set('decide', 'lies');
    const { openApplies } = trader.store;
    let isReadable = false;
    trader.store.openApplies = () => {
      if (!isReadable) throw new FleetError('STORE_UNAVAILABLE', 'the control store cannot be read');
      return openApplies();
    };
    assert.equal(await trader.ask({}), 'failed store_unavailable');
    isReadable = true;
    repair(trader);
    for (const _ of [1, 2, 3]) await trader.pass(RETRY_MS);
    assert.deepEqual(stateOf(trader), { runState: 'paused', riskMode: 'normal' });
    assert.equal(trader.runtime.does.get(CONCERN.id)?.runState, 'paused');
    assert.deepEqual(holdOf(trader), NO_HOLD);
    await trader.assertSound();
  },
);

test(
  'a decision is written once, however long the engine fails after it, and does not block others',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    fill(trader);
    await trader.ask({});
    repair(trader);
    trader.runtime.fate.push(...Array(5).fill('fails'));
    for (const _ of [1, 2]) await trader.pass(RETRY_MS);
    const written = trader.audit().length;
    assert.deepEqual(trader.kinds(), ['seed', 'attempt applied', 'outcome compensated', 'hold']);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'normal' });
    assert.deepEqual(stateOf(trader), { runState: 'paused', riskMode: 'normal' });
    for (const _ of [1, 2, 3]) await trader.pass(RETRY_MS);
    assert.equal(trader.audit().length, written, 'nothing is written again');
    assert.deepEqual(holdOf(trader), NO_HOLD);
    assert.equal(trader.marked(), undefined);
    await trader.assertSound();
  },
);
