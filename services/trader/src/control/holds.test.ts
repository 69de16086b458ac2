import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { at, CONCERN, outcomeOf, type Request, to } from './testing/decisions.ts';
import { freshId, openDecisionService, type TestDecisionService, textOf } from './testing/harness.ts';

const HALT: Request = { action: 'set_risk_mode', riskMode: 'halted' };
const RETRY_MS = 5_000;

const full = ({ store }: TestDecisionService): void => {
  store.faults.set('decide', 'refuses');
  store.faults.set('refuse', 'refuses');
  store.faults.set('hold', 'refuses');
};
const repair = ({ store }: TestDecisionService): void => store.faults.clear();

/** The status, and the effect and the state that the answer tells. */
async function answered(trader: TestDecisionService, request: Request): Promise<unknown> {
  const { response } = await trader.send(textOf(request));
  return [outcomeOf(response), response.result.effect, response.riskMode];
}

const holdOf = ({ runtime }: TestDecisionService): unknown => {
  const { runState, riskMode } = runtime.holds.get(`${CONCERN.id} decisions`) ?? {};
  return { runState, riskMode };
};
const NOTHING = { runState: undefined, riskMode: undefined };
const stateOf = (trader: TestDecisionService): unknown => {
  const { runState, riskMode } = trader.concern() ?? {};
  return { runState, riskMode };
};

test(
  'a pause and a lower risk mode take effect although the disk is full, and are written when it is not',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    full(trader);
    assert.deepEqual(await answered(trader, {}), ['failed store_unavailable', 'held', 'normal']);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'normal' });
    assert.deepEqual(await answered(trader, HALT), ['failed store_unavailable', 'held', 'normal']);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'halted' });
    assert.deepEqual([...trader.marks.marked], [[`${CONCERN.id} decisions`, 'halted']]);
    assert.deepEqual(stateOf(trader), { runState: 'running', riskMode: 'normal' });
    await trader.pass(RETRY_MS);
    assert.deepEqual(holdOf(trader), { runState: 'paused', riskMode: 'halted' });

    repair(trader);
    await trader.pass(RETRY_MS);
    await trader.pass(0);
    assert.deepEqual(stateOf(trader), { runState: 'paused', riskMode: 'halted' });
    assert.deepEqual([holdOf(trader), trader.marks.marked.size], [NOTHING, 0]);
    assert.deepEqual(trader.kinds(), [
      'seed',
      ...Array(2).fill(['attempt applied', 'outcome applied']).flat(),
    ]);
    await trader.assertSound();
  },
);

test('what raises risk, or is rejected, or only asks, has no effect on a full disk', deadline, async (t) => {
  const trader = await openDecisionService(t, { concern: { runState: 'paused', riskMode: 'cautious' } });
  full(trader);
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
  assert.deepEqual([holdOf(trader), trader.marks.marked.size], [NOTHING, 0]);
});

test(
  'what is in effect is written before the next decision is made, however old it is',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    const pause = textOf({ decisionId: freshId(), ...at(0) });
    full(trader);
    assert.equal(outcomeOf((await trader.send(pause)).response), 'failed store_unavailable');
    assert.equal(outcomeOf((await trader.send(pause)).response), 'failed store_unavailable');
    assert.equal(await trader.ask({ action: 'resume' }), 'failed store_unavailable');
    await trader.pass(400_000);
    repair(trader);
    assert.equal(await trader.ask({ action: 'resume' }), 'applied');
    assert.equal(outcomeOf((await trader.send(pause)).response), 'noop !duplicate_decision');
    assert.deepEqual(stateOf(trader), { runState: 'running', riskMode: 'normal' });
    assert.deepEqual(holdOf(trader), NOTHING);
    const texts = trader
      .audit()
      .flatMap(({ record }) => (record['kind'] === 'attempt' ? [record['status']] : []));
    assert.deepEqual(texts, ['applied', 'applied', 'noop']);
    await trader.assertSound();
  },
);

test(
  'a restart before that comes up paused, in the mode that was asked for, and its audit says why',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    full(trader);
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
  full(trader);
  await trader.ask({});
  const again = await trader.restart();
  assert.deepEqual(stateOf(again), { runState: 'paused', riskMode: 'cautious' });
  await again.assertSound();
});

test('an answer says if a restart would not know of the hold', deadline, async (t) => {
  const trader = await openDecisionService(t);
  full(trader);
  trader.marks.works = false;
  const { response } = await trader.send(textOf(HALT));
  assert.match(response.errors[0]?.message ?? '', /in effect nevertheless.*a restart before that loses it/);
  assert.equal(response.result.effect, 'held');
});

test(
  'without a readable store nothing takes effect, and the answer does not claim it',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    trader.store.faults.set('decide', 'refuses');
    trader.store.faults.set('read', 'refuses');
    const { response } = await trader.send(textOf({}));
    assert.deepEqual([response.status, response.result.effect], ['failed', undefined]);
    assert.deepEqual(holdOf(trader), NOTHING);
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
    assert.deepEqual(holdOf(trader), NOTHING);
    await trader.assertSound();
  },
);
