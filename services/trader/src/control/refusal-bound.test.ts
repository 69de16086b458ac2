import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { RECORDED_PER_MINUTE } from './refusal-bound.ts';
import {
  BITCOIN,
  NOBODY,
  openDecisionService,
  STRANGER,
  SWITCH,
  type TestDecisionService,
  textOf,
} from './testing/harness.ts';

const MINUTE_MS = 60_000;
const FLOOD = 1_000;

const rejected = (trader: TestDecisionService): number =>
  trader.kinds().filter((kind) => kind === 'attempt rejected').length;
const counted = (trader: TestDecisionService): unknown[] =>
  trader
    .audit()
    .flatMap(({ record }) =>
      record['kind'] === 'refusals' ? [{ caller: record['caller'], counts: record['counts'] }] : [],
    );

test(
  'attempts without authorization have a bounded number of records, and are counted beyond it',
  deadline,
  async (t) => {
    const trader = await openDecisionService(t);
    for (let sent = 0; sent < FLOOD; sent += 1) {
      const { response, httpStatus } = await trader.send(textOf({}), { caller: STRANGER });
      assert.deepEqual([httpStatus, response.errors[0]?.code], [403, 'forbidden']);
    }
    assert.equal(rejected(trader), RECORDED_PER_MINUTE);
    assert.equal(
      trader.reported.filter((what) => what === 'forbidden').length,
      FLOOD,
      'the metrics count each',
    );
    assert.deepEqual(counted(trader), []);
    await trader.pass(MINUTE_MS);
    const counts = { forbidden: FLOOD - RECORDED_PER_MINUTE };
    assert.deepEqual(counted(trader), [{ caller: STRANGER.name, counts }]);
    await trader.send(textOf({}), { caller: STRANGER });
    assert.equal(rejected(trader), RECORDED_PER_MINUTE + 1, 'the next minute has its own');
    await trader.pass(MINUTE_MS);
    assert.equal(counted(trader).length, 1);
    await trader.assertSound();
  },
);

test('callers have minutes of their own, and authorized attempts are all recorded', deadline, async (t) => {
  const trader = await openDecisionService(t);
  for (let sent = 0; sent < 2 * RECORDED_PER_MINUTE; sent += 1) {
    await trader.send('{', { caller: NOBODY });
    await trader.send('{', { caller: SWITCH });
    await trader.send(textOf({ expectedActiveStrategyId: 'grid' }), { caller: SWITCH });
  }
  assert.equal(rejected(trader), 5 * RECORDED_PER_MINUTE);
  await trader.send(textOf({ ...BITCOIN, accountId: 'elsewhere' }), { caller: SWITCH });
  assert.equal(rejected(trader), 5 * RECORDED_PER_MINUTE + 1);
});

test('what is counted is recorded at the stop, and kept while it cannot be written', deadline, async (t) => {
  const trader = await openDecisionService(t);
  const flood = async (): Promise<void> => {
    for (let sent = 0; sent < RECORDED_PER_MINUTE + 5; sent += 1)
      await trader.send(textOf({}), { caller: STRANGER });
  };
  await flood();
  trader.store.faults.set('refusals', 'refuses');
  await trader.pass(MINUTE_MS);
  assert.match(trader.log.messages.join(), /error: refused attempts could not be audited/);
  await flood();
  trader.store.faults.clear();
  await trader.decisions.close();
  assert.deepEqual(counted(trader), [{ caller: STRANGER.name, counts: { forbidden: 10 } }]);
});
