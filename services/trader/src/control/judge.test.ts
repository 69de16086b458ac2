import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControlResponseWire, encodeControlResponse } from '@hermes-fleet/protocol/control';
import { TABLE } from '../../testing/control/decision-table.ts';
import {
  at,
  CONCERN,
  DEGRADED,
  decisionOf,
  type Given,
  NOW,
  outcomeOf,
  POLICY,
  type Request,
  STRATEGIES,
  type State,
  to,
} from '../../testing/control/decisions.ts';
import type { Facts } from './facts.ts';
import { judge, type Verdict } from './judge.ts';

function decide(
  request: Request,
  state: State = {},
  given: Given & Partial<Pick<Facts, 'previous'>> = {},
): Verdict {
  const decision = decisionOf(request);
  const concern = { ...CONCERN, ...state };
  const known = (id: string | null | undefined) => STRATEGIES.find((each) => each.id === id);
  const { unknown, ...facts } = given;
  return judge(decision, 'print', {
    now: NOW,
    degraded: false,
    previous: undefined,
    policy: POLICY,
    concern: unknown ? undefined : concern,
    target: known(decision.targetStrategyId),
    active: known(concern.activeStrategyId),
    ...facts,
  });
}

for (const [name, request, outcome, state = {}, given = {}, changed] of TABLE) {
  test(`${name}: ${outcome}`, () => {
    const { response, next, isFirst } = decide(request, state, given);
    assert.equal(outcomeOf(response), outcome);
    assert.deepEqual(next, changed && { ...CONCERN, ...state, ...changed, rev: 8 });
    assert.equal(isFirst, request.dryRun !== true);
    assert.equal(response.ok, !outcome.startsWith('rejected'));
    assert.equal(response.appliedAt, changed ? '2026-04-16T20:15:00.000Z' : null);
    if (given.unknown !== true) {
      assert.equal(response.fromStrategyId, { ...CONCERN, ...state }.activeStrategyId);
      assert.equal(response.riskMode, { ...CONCERN, ...state, ...changed }.riskMode);
    }
    ControlResponseWire.parse(encodeControlResponse(response));
  });
}

test('a dry run returns the status and the state that a real one would have', () => {
  const would = (request: Request): unknown => {
    const { response } = decide({ ...request, dryRun: true });
    return [response.result.modeChange, response.result.wouldStatus, response.toStrategyId, response.dryRun];
  };
  assert.deepEqual(would(to('grid')), ['simulated', 'applied', 'grid', true]);
  assert.deepEqual(would(to('trend')), ['simulated', 'noop', 'trend', true]);
});

test('completed checks are reported, the others are null', () => {
  const reached = (request: Request, given: Given = {}): string[] =>
    Object.entries(decide(request, {}, given).response.validation).flatMap(([name, value]) =>
      value === null ? [] : [`${value ? '' : 'not '}${name}`],
    );
  assert.deepEqual(reached({}, { unknown: true }), ['schemaValid', 'not concernMatch']);
  const whose = ['schemaValid', 'concernMatch', 'accountMatch', 'marketMatch'];
  assert.deepEqual(reached(to('nobody')), [...whose, 'not targetExists']);
  assert.deepEqual(reached(to('foreign')), [...whose, 'targetExists', 'not targetRunnable']);
  const rest = ['requestFresh', 'confidenceAccepted', 'expectedActiveMatch', 'executionSafe'];
  assert.deepEqual(reached(to('grid')), [...whose, 'targetExists', 'targetRunnable', ...rest]);
  assert.deepEqual(reached({ ...to('grid'), expectedActiveStrategyId: 'off', override: true }).slice(-2), [
    'not expectedActiveMatch',
    'executionSafe',
  ]);
});

test('a repeated decision gets the first answer, regardless of later changes', () => {
  const first = (request: Request, state: State = {}): NonNullable<Facts['previous']> => ({
    fingerprint: 'print',
    response: decide(request, state).response,
  });
  const applied = first(to('grid'));
  const repeat = decide(
    { ...to('grid'), ...at(-9_999) },
    { activeStrategyId: 'trend' },
    { ...DEGRADED, previous: applied },
  );
  assert.equal(outcomeOf(repeat.response), 'noop !duplicate_decision');
  assert.deepEqual([repeat.next, repeat.isFirst], [undefined, false]);
  assert.deepEqual({ ...repeat.response, warnings: [], status: 'applied' }, applied.response);

  const refused = first(to('off'));
  assert.deepEqual(decide(to('off'), {}, { previous: refused }).response, refused.response);

  const failed = { ...applied, response: { ...applied.response, status: 'failed' as const, ok: false } };
  assert.equal(decide(to('grid'), {}, { previous: failed }).response.status, 'applied');

  const other = { ...applied, fingerprint: 'another' };
  for (const override of [false, true]) {
    const conflict = decide({ ...to('grid'), override }, {}, { previous: other });
    assert.equal(outcomeOf(conflict.response), 'rejected decision_id_conflict');
    assert.deepEqual([conflict.next, conflict.isFirst], [undefined, false]);
  }
});

test('a dry run with a used id tells what the decision itself would get', () => {
  const first = (request: Request): NonNullable<Facts['previous']> => ({
    fingerprint: 'print',
    response: decide(request).response,
  });
  const dry = (previous: NonNullable<Facts['previous']>): Verdict =>
    decide({ ...to('grid'), dryRun: true }, {}, { previous });
  const applied = first(to('grid'));
  const conflict = dry({ ...applied, fingerprint: 'another' });
  assert.equal(outcomeOf(conflict.response), 'rejected decision_id_conflict');
  const copy = dry(applied);
  assert.equal(outcomeOf(copy.response), 'noop !duplicate_decision');
  assert.deepEqual(copy.response.result, { modeChange: 'simulated', reconciled: true, wouldStatus: 'noop' });
  assert.equal(outcomeOf(dry(first(to('off'))).response), 'rejected target_not_runnable');
  for (const verdict of [conflict, copy]) {
    assert.deepEqual([verdict.next, verdict.isFirst, verdict.response.dryRun], [undefined, false, true]);
    assert.equal(verdict.response.appliedAt, null);
  }
});
