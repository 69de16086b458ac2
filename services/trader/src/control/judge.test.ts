import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ControlDecision,
  type ControlResponse,
  ControlResponseWire,
  encodeControlResponse,
} from '@hermes-fleet/protocol';
import { type Facts, judge, type Verdict } from './judge.ts';
import type { Concern, Strategy } from './state.ts';

const NOW = Date.parse('2026-04-16T20:15:00Z');
const CONCERN: Concern = {
  ...{ id: 'acc:xrpusd', accountId: 'acc', marketSymbol: 'xrpusd', rev: 7 },
  ...{ activeStrategyId: 'trend', runState: 'running', riskMode: 'normal' },
};
const strategy = (id: string, o: Partial<Strategy> = {}): Strategy => ({
  ...{
    id,
    name: id,
    kind: 'k',
    accountId: 'acc',
    marketSymbol: 'xrpusd',
    params: {},
    status: 'enabled',
    ...o,
  },
});
const STRATEGIES = [
  ...[strategy('trend'), strategy('grid'), strategy('off', { status: 'disabled' })],
  ...[strategy('broken', { status: 'faulted' }), strategy('foreign', { marketSymbol: 'btcusd' })],
];
const POLICY = { maxAgeMs: 300_000, futureSlackMs: 60_000, minConfidence: 0, strictDegraded: false };

type Request = Partial<ControlDecision>;
type State = Partial<Pick<Concern, 'activeStrategyId' | 'runState' | 'riskMode'>>;
type Given = Partial<Pick<Facts, 'degraded' | 'previous' | 'policy'>> & { unknown?: boolean };

function decide(request: Request, state: State = {}, given: Given = {}): Verdict {
  const decision: ControlDecision = {
    ...{
      decisionId: 'd1',
      concernId: 'acc:xrpusd',
      accountId: 'acc',
      marketSymbol: 'xrpusd',
      action: 'pause',
    },
    ...{ reason: 'r', confidence: 0.8, dryRun: false, override: false, expectedActiveStrategyId: 'trend' },
    ...request,
  };
  const concern = { ...CONCERN, ...state };
  const known = (id: string | null | undefined) => STRATEGIES.find((each) => each.id === id);
  const { unknown, ...facts } = given;
  return judge(decision, 'print', {
    ...{
      now: NOW,
      concern: unknown ? undefined : concern,
      degraded: false,
      previous: undefined,
      policy: POLICY,
    },
    ...{ target: known(decision.targetStrategyId), active: known(concern.activeStrategyId), ...facts },
  });
}

const to = (targetStrategyId: string): Request => ({ action: 'switch', targetStrategyId });
const NOTHING: State = { activeStrategyId: null };
const PAUSED: State = { runState: 'paused' };
const none: Request = { expectedActiveStrategyId: null };
const risk = (riskMode: Concern['riskMode']): Request => ({ action: 'set_risk_mode', riskMode });
const DEGRADED: Given = { degraded: true };
const CAREFUL: Given = { policy: { ...POLICY, minConfidence: 0.9 } };
const at = (seconds: number): Request => ({ requestedAt: new Date(NOW + seconds * 1000).toISOString() });

type Row = [name: string, request: Request, outcome: string, state?: State, given?: Given, changed?: State];

/** The decision table of design 4: a status, its codes, and `!` with its warnings; and what becomes of the concern. */
const TABLE: Row[] = [
  ['switch to another', to('grid'), 'applied', {}, {}, { activeStrategyId: 'grid' }],
  ['switch while paused', to('grid'), 'applied !stays_paused', PAUSED, {}, { activeStrategyId: 'grid' }],
  [
    'switch with a risk mode',
    { ...to('grid'), riskMode: 'cautious' },
    'applied',
    {},
    {},
    { activeStrategyId: 'grid', riskMode: 'cautious' },
  ],
  ['switch to what is active', to('trend'), 'noop'],
  ['switch to what is active, same risk', { ...to('trend'), riskMode: 'normal' }, 'noop'],
  [
    'switch to what is active, other risk',
    { ...to('trend'), riskMode: 'halted' },
    'applied',
    {},
    {},
    { riskMode: 'halted' },
  ],
  [
    'switch with nothing active',
    { ...to('grid'), ...none },
    'applied',
    NOTHING,
    {},
    { activeStrategyId: 'grid' },
  ],
  ['switch to a missing one', to('nobody'), 'rejected target_not_found'],
  ['switch to one of another concern', to('foreign'), 'rejected target_scope_mismatch'],
  ['switch to a disabled one', to('off'), 'rejected target_not_runnable'],
  ['switch to a faulted one', to('broken'), 'rejected target_not_runnable'],
  ['pause', {}, 'applied', {}, {}, PAUSED],
  ['pause twice', {}, 'noop', PAUSED],
  ['pause nothing', none, 'rejected no_active_strategy', NOTHING],
  ['resume', { action: 'resume' }, 'applied', PAUSED, {}, { runState: 'running' }],
  ['resume what runs', { action: 'resume' }, 'noop'],
  ['resume nothing', { action: 'resume', ...none }, 'rejected no_active_strategy', { ...NOTHING, ...PAUSED }],
  [
    'resume a faulted one',
    { action: 'resume', expectedActiveStrategyId: 'broken' },
    'rejected target_not_runnable',
    { ...PAUSED, activeStrategyId: 'broken' },
  ],
  [
    'pause a faulted one',
    { expectedActiveStrategyId: 'broken' },
    'applied',
    { activeStrategyId: 'broken' },
    {},
    PAUSED,
  ],
  ['other risk mode', risk('halted'), 'applied', {}, {}, { riskMode: 'halted' }],
  ['other risk mode while paused', risk('cautious'), 'applied', PAUSED, {}, { riskMode: 'cautious' }],
  ['same risk mode', risk('normal'), 'noop'],
  [
    'risk mode of nothing',
    { ...risk('cautious'), ...none },
    'applied',
    NOTHING,
    {},
    { riskMode: 'cautious' },
  ],
  ['another is active', { expectedActiveStrategyId: 'grid' }, 'rejected expected_active_mismatch'],
  ['nothing was expected', none, 'rejected expected_active_mismatch'],
  [
    'another is active, override',
    { ...to('grid'), expectedActiveStrategyId: 'off', override: true },
    'applied !override_used',
    {},
    {},
    { activeStrategyId: 'grid' },
  ],
  [
    'unguarded',
    { ...to('grid'), expectedActiveStrategyId: undefined },
    'applied !unguarded_transition',
    {},
    {},
    { activeStrategyId: 'grid' },
  ],
  ['switch degraded', to('grid'), 'rejected execution_degraded', {}, DEGRADED],
  ['resume degraded', { action: 'resume' }, 'rejected execution_degraded', PAUSED, DEGRADED],
  ['risk up degraded', risk('normal'), 'rejected execution_degraded', { riskMode: 'halted' }, DEGRADED],
  [
    'switch degraded, override',
    { ...to('grid'), override: true },
    'applied !override_used',
    {},
    DEGRADED,
    { activeStrategyId: 'grid' },
  ],
  ['pause degraded', {}, 'applied !allowed_while_degraded', {}, DEGRADED, PAUSED],
  [
    'risk down degraded',
    risk('reduce_only'),
    'applied !allowed_while_degraded',
    {},
    DEGRADED,
    { riskMode: 'reduce_only' },
  ],
  [
    'pause degraded, strictly',
    {},
    'rejected execution_degraded',
    {},
    { degraded: true, policy: { ...POLICY, strictDegraded: true } },
  ],
  ['switch at low confidence', to('grid'), 'rejected confidence_too_low', {}, CAREFUL],
  [
    'switch at low confidence, override',
    { ...to('grid'), override: true },
    'applied !override_used',
    {},
    CAREFUL,
    { activeStrategyId: 'grid' },
  ],
  ['pause at low confidence', {}, 'applied !allowed_at_low_confidence', {}, CAREFUL, PAUSED],
  ['no requested_at', {}, 'applied', {}, {}, PAUSED],
  ['just in time', at(-300), 'applied', {}, {}, PAUSED],
  ['too old', at(-301), 'rejected stale_request'],
  ['too old, override', { ...at(-301), override: true }, 'applied !override_used', {}, {}, PAUSED],
  ['a minute ahead', at(60), 'applied', {}, {}, PAUSED],
  ['further ahead', at(61), 'rejected requested_in_future'],
  ['further ahead, override', { ...at(61), override: true }, 'rejected requested_in_future'],
  ['unknown concern', { concernId: 'x' }, 'rejected unknown_concern', {}, { unknown: true }],
  ['wrong account', { accountId: 'x' }, 'rejected account_mismatch'],
  [
    'wrong account and market',
    { accountId: 'x', marketSymbol: 'y' },
    'rejected account_mismatch market_mismatch',
  ],
  ['dry run that would pass', { ...to('grid'), dryRun: true }, 'noop'],
  ['dry run that would change nothing', { ...to('trend'), dryRun: true }, 'noop'],
  ['dry run that would fail', { ...to('off'), dryRun: true }, 'rejected target_not_runnable'],
];

const said = ({ status, errors, warnings }: ControlResponse): string =>
  [status, ...errors.map(({ code }) => code), ...warnings.map(({ code }) => `!${code}`)].join(' ');

for (const [name, request, outcome, state = {}, given = {}, changed] of TABLE) {
  test(`${name}: ${outcome}`, () => {
    const { response, next, isFirst } = decide(request, state, given);
    assert.equal(said(response), outcome);
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

test('a dry run says what a real one would come to, and of what', () => {
  const would = (request: Request): unknown => {
    const { response } = decide({ ...request, dryRun: true });
    return [response.result.modeChange, response.result.wouldStatus, response.toStrategyId, response.dryRun];
  };
  assert.deepEqual(would(to('grid')), ['simulated', 'applied', 'grid', true]);
  assert.deepEqual(would(to('trend')), ['simulated', 'noop', 'trend', true]);
});

test('what was checked is told, the rest is null', () => {
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

test('a decision that was there before gets the first answer, however the world has changed', () => {
  const first = (request: Request, state: State = {}): NonNullable<Facts['previous']> => ({
    ...{ fingerprint: 'print', response: decide(request, state).response },
  });
  const applied = first(to('grid'));
  const repeat = decide(
    { ...to('grid'), ...at(-9_999) },
    { activeStrategyId: 'trend' },
    { ...DEGRADED, previous: applied },
  );
  assert.equal(said(repeat.response), 'noop !duplicate_decision');
  assert.deepEqual([repeat.next, repeat.isFirst], [undefined, false]);
  assert.deepEqual({ ...repeat.response, warnings: [], status: 'applied' }, applied.response);

  const refused = first(to('off'));
  assert.deepEqual(decide(to('off'), {}, { previous: refused }).response, refused.response);

  const failed = { ...applied, response: { ...applied.response, status: 'failed' as const, ok: false } };
  assert.equal(decide(to('grid'), {}, { previous: failed }).response.status, 'applied');

  const other = { ...applied, fingerprint: 'another' };
  for (const override of [false, true]) {
    const conflict = decide({ ...to('grid'), override }, {}, { previous: other });
    assert.equal(said(conflict.response), 'rejected decision_id_conflict');
    assert.deepEqual([conflict.next, conflict.isFirst], [undefined, false]);
  }
  assert.equal(decide({ ...to('grid'), dryRun: true }, {}, { previous: other }).response.status, 'noop');
});
