import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import { CONCERN, outcomeOf, to } from '../../testing/control/decisions.ts';
import { NOBODY, openDecisionService, textOf } from '../../testing/control/harness.ts';

const BITCOIN = { concernId: 'acc:btcusd', marketSymbol: 'btcusd', expectedActiveStrategyId: 'foreign' };

for (const fate of ['fails', 'throws'] as const) {
  test(
    `an activation that ${fate}: failed, restored, both in the audit, and the same id again succeeds`,
    deadline,
    async (t) => {
      const test = await openDecisionService(t);
      const text = textOf({ ...to('grid'), riskMode: 'cautious' });
      test.runtime.fate.push(fate);
      const { response, httpStatus } = await test.send(text);
      assert.equal(outcomeOf(response), 'failed activation_failed');
      assert.equal(httpStatus, 200);
      assert.deepEqual(response.result, { modeChange: 'restored', reconciled: true });
      assert.deepEqual([response.ok, response.appliedAt], [false, null]);
      assert.deepEqual(
        [response.fromStrategyId, response.toStrategyId, response.riskMode],
        ['trend', 'trend', 'normal'],
      );
      assert.ok(!JSON.stringify(response).includes('/secret'));
      assert.deepEqual(test.concern(), { ...CONCERN, rev: 2 });
      assert.deepEqual(test.kinds(), ['seed', 'attempt applied', 'outcome compensated']);
      assert.deepEqual(test.reported, ['switch failed', 'activation_failed']);
      await test.assertSound();

      assert.equal(
        await test.ask({ ...to('grid'), decisionId: response.decisionId ?? '' }),
        'rejected decision_id_conflict',
      );
      assert.equal(outcomeOf((await test.send(text)).response), 'applied');
      assert.equal(outcomeOf((await test.send(text)).response), 'noop !duplicate_decision');
      assert.equal(test.concern()?.activeStrategyId, 'grid');
      await test.assertSound();
    },
  );
}

test('a hanging activation ends at its deadline, and its later effect is undone', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.runtime.fate.push('hangs');
  const answer = test.send(textOf(to('grid')));
  await test.runtime.hanging(1);
  test.clock.advance(5000);
  const { response } = await answer;
  assert.equal(outcomeOf(response), 'failed activation_failed');
  assert.match(response.errors[0]?.message ?? '', /within 5 s/);
  await test.assertSound();
  test.runtime.release();
  assert.equal(test.runtime.does.get(CONCERN.id)?.activeStrategyId, 'grid');
  await test.assertSound();
  assert.equal(test.runtime.does.get(CONCERN.id)?.activeStrategyId, 'trend');
});

test(
  'close ends a hanging activation and leaves no timer, and no call is made after it',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    test.runtime.fate.push('hangs');
    const answer = test.send(textOf(to('grid')));
    await test.runtime.hanging(1);
    test.decisions.close();
    const { response } = await answer;
    assert.equal(outcomeOf(response), 'failed activation_failed');
    assert.match(response.errors[0]?.message ?? '', /before the trader stopped/);
    const { calls } = test.runtime;
    test.runtime.release();
    await test.pass(60_000);
    assert.deepEqual([test.runtime.calls, test.clock.timers], [calls, 0]);
  },
);

test('calls to a hanging runtime are bounded', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.runtime.fate.push(...Array<'hangs'>(40).fill('hangs'));
  const answer = test.ask(to('grid'));
  await test.runtime.hanging(1);
  for (let count = 0; count < 40; count += 1) await test.pass(5000);
  assert.equal(await answer, 'failed activation_failed');
  assert.ok(test.runtime.calls <= 3 + 10, `${test.runtime.calls} calls`);
  test.runtime.fate.length = 0;
  test.runtime.release();
  await test.assertSound();
});

test(
  'if the previous state cannot be restored, the answer says so and the restore is retried',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    test.runtime.fate.push('fails', 'fails', 'fails');
    const { response } = await test.send(textOf(to('grid')));
    assert.deepEqual(response.result, { modeChange: 'restored', reconciled: false });
    await test.pass(0);
    assert.equal(await test.ask({ ...to('grid') }), 'rejected execution_degraded');
    await test.pass(5000);
    await test.assertSound();
    assert.equal(await test.ask(to('grid')), 'applied');
  },
);

test('a pause is applied while the runtime is behind, and updates it', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.runtime.fate.push('fails', 'fails', 'fails');
  await test.ask(to('grid'));
  await test.pass(0);
  assert.equal(await test.ask({}), 'applied !allowed_while_degraded');
  await test.assertSound();
  assert.equal(await test.ask({ ...to('grid') }), 'applied !stays_paused');
});

test(
  'if the store cannot write, the decision fails, the old state stays, and the same id succeeds later',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    const text = textOf(to('grid'));
    for (const command of ['decide', 'refuse'] as const) test.store.faults.set(command, 'refuses');
    const { response, httpStatus } = await test.send(text);
    assert.equal(outcomeOf(response), 'failed store_unavailable');
    assert.match(response.errors[0]?.message ?? '', /not in the audit.*disk is full/);
    assert.deepEqual([httpStatus, response.ok, response.result.modeChange], [200, false, 'none']);
    assert.deepEqual(
      [response.fromStrategyId, response.toStrategyId, response.riskMode],
      ['trend', 'trend', 'normal'],
    );
    assert.equal((await test.send('nonsense')).response.status, 'failed');
    const forbidden = await test.send(text, { caller: NOBODY });
    assert.deepEqual(
      [forbidden.httpStatus, outcomeOf(forbidden.response)],
      [403, 'failed forbidden store_unavailable'],
    );
    assert.deepEqual(test.kinds(), ['seed']);
    assert.equal(test.runtime.calls, 3);
    assert.deepEqual(test.reported, [
      ...['switch failed', 'store_unavailable', 'none failed', 'invalid_payload', 'store_unavailable'],
      ...['switch failed', 'forbidden', 'store_unavailable'],
    ]);

    test.store.faults.clear();
    assert.equal(outcomeOf((await test.send(text)).response), 'applied');
    await test.assertSound();
  },
);

test(
  'if the store cannot be read, the decision fails and the answer omits the concern',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    const failing = async (): Promise<void> => {
      for (const command of ['decide', 'refuse', 'read'] as const) test.store.faults.set(command, 'refuses');
      const { response } = await test.send(textOf(to('grid')));
      assert.equal(outcomeOf(response), 'failed store_unavailable');
      assert.deepEqual([response.fromStrategyId, response.riskMode], [null, null]);
      test.store.faults.clear();
    };
    await failing();
    assert.equal(await test.ask({ dryRun: true }), 'noop');
    await failing();
    test.store.faults.set('decide', 'lies').set('read', 'refuses').set('refuse', 'refuses');
    const text = textOf({});
    assert.equal(outcomeOf((await test.send(text)).response), 'failed store_unavailable');
    test.store.faults.clear();
    const after = await test.restart();
    assert.equal(outcomeOf((await after.send(text)).response), 'noop !duplicate_decision');
    await after.assertSound();
  },
);

test('an attempt that could not be decided is audited if possible', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.store.faults.set('decide', 'breaks');
  const { response } = await test.send(textOf(to('grid')));
  assert.equal(outcomeOf(response), 'failed internal_error');
  assert.ok(!JSON.stringify(response).includes('/secret'));
  assert.deepEqual(test.kinds(), ['seed', 'attempt failed']);
  await test.assertSound();
});

test('a decision that was written despite a reported failure is applied', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.store.faults.set('decide', 'lies');
  const text = textOf(to('grid'));
  assert.equal(outcomeOf((await test.send(text)).response), 'applied');
  assert.equal(test.runtime.does.get(CONCERN.id)?.activeStrategyId, 'grid');
  assert.equal(
    outcomeOf((await test.send(textOf({ ...to('nobody') }))).response),
    'failed target_not_found store_unavailable',
  );
  test.store.faults.clear();
  assert.equal(outcomeOf((await test.send(text)).response), 'noop !duplicate_decision');
  await test.assertSound();
});

test(
  'a compensation that cannot be written blocks only its concern, and is written later',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    const text = textOf(to('grid'));
    test.store.faults.set('compensate', 'refuses');
    test.runtime.fate.push('fails');
    const first = await test.send(text);
    assert.equal(outcomeOf(first.response), 'failed activation_failed store_unavailable');
    assert.match(first.response.errors[0]?.message ?? '', /a restart before that applies the change/);
    assert.equal(outcomeOf((await test.send(text)).response), 'failed store_unavailable');
    assert.equal(await test.ask({ action: 'resume' }), 'failed store_unavailable');
    assert.equal(await test.ask(BITCOIN), 'applied');
    assert.equal(test.runtime.does.get(CONCERN.id)?.activeStrategyId, 'trend');

    test.store.faults.clear();
    assert.equal(outcomeOf((await test.send(text)).response), 'applied');
    assert.deepEqual(
      test.kinds().filter((kind) => kind.startsWith('outcome')),
      ['outcome applied', 'outcome compensated'],
    );
    await test.assertSound();
  },
);

test(
  'a pending compensation is written without a further request, even if it was written before',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    test.store.faults.set('compensate', 'lies');
    test.runtime.fate.push('fails');
    await test.ask(to('grid'));
    test.store.faults.clear();
    await test.pass(5000);
    assert.deepEqual(test.concern(), { ...CONCERN, rev: 2 });
    await test.assertSound();
    assert.equal(await test.ask(to('grid')), 'applied');
  },
);

test(
  'an outcome that cannot be recorded is recorded later, and the answer does not wait',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    test.store.faults.set('settle', 'refuses');
    assert.equal(await test.ask(to('grid')), 'applied');
    await test.pass(0);
    assert.equal(test.store.openApplies().length, 1);
    test.store.faults.clear();
    await test.pass(5000);
    await test.assertSound();
    assert.deepEqual(test.kinds(), ['seed', 'attempt applied', 'outcome applied']);
  },
);

test('pending outcomes are bounded, and the next start records them all', deadline, async (t) => {
  const test = await openDecisionService(t);
  test.store.faults.set('settle', 'refuses');
  for (let count = 0; count < 1002; count += 1)
    await test.ask({ action: 'set_risk_mode', riskMode: count % 2 ? 'normal' : 'cautious' });
  await test.pass(0);
  assert.equal(test.store.openApplies().length, 1002);
  assert.equal(test.log.messages.filter((message) => message.includes('too many outcomes')).length, 2);
  const after = await test.restart();
  await after.assertSound();
});
