import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import {
  BITCOIN,
  NOBODY,
  openDecisionService,
  STRANGER,
  SWITCH,
  type TestDecisionService,
  textOf,
} from '../../testing/control/harness.ts';
import type { Refusals } from './control-store.ts';
import { createRefusalBound, RECORDED_PER_MINUTE } from './refusal-bound.ts';
import { refusal } from './screening.ts';

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

test('a stop waits for a record that is being written, and writes it again if that fails', async () => {
  const gate = Promise.withResolvers<void>();
  const recorded: Refusals[] = [];
  const clock = manualClock();
  let calls = 0;
  const bound = createRefusalBound({
    store: {
      refusals: async (refusals) => {
        calls += 1;
        if (calls === 1) await gate.promise;
        recorded.push(refusals);
      },
    },
    clock,
    log: silentLog,
  });
  const attempt = { transport: 'jsonrpc' as const, caller: NOBODY, text: null };
  const response = refusal(undefined, [{ code: 'forbidden', message: 'no' }]).response;
  for (let sent = 0; sent < RECORDED_PER_MINUTE + 3; sent += 1) bound.counts(attempt, response);
  clock.advance(MINUTE_MS);
  assert.equal(calls, 1);
  const closed = bound.close();
  gate.reject(new Error('the disk is full'));
  await closed;
  assert.deepEqual(
    recorded.map(({ counts }) => counts),
    [{ forbidden: 3 }],
  );
});
