import type { Concern, Strategy } from '@hermes-fleet/paper';
import type { ControlDecision, ControlResponse } from '@hermes-fleet/protocol';
import type { Facts, Policy } from '../facts.ts';

export const NOW = Date.parse('2026-04-16T20:15:00Z');
export const CONCERN: Concern = {
  id: 'acc:xrpusd',
  accountId: 'acc',
  marketSymbol: 'xrpusd',
  rev: 7,
  activeStrategyId: 'trend',
  runState: 'running',
  riskMode: 'normal',
};
const strategy = (id: string, o: Partial<Strategy> = {}): Strategy => ({
  id,
  name: id,
  kind: 'k',
  accountId: 'acc',
  marketSymbol: 'xrpusd',
  params: {},
  status: 'enabled',
  ...o,
});
export const STRATEGIES = [
  ...[strategy('trend'), strategy('grid'), strategy('off', { status: 'disabled' })],
  ...[strategy('broken', { status: 'faulted' }), strategy('foreign', { marketSymbol: 'btcusd' })],
];
export const POLICY: Policy = {
  maxAgeMs: 300_000,
  futureSlackMs: 60_000,
  minConfidence: 0,
  strictDegraded: false,
};

export type Request = Partial<ControlDecision>;
export type State = Partial<Pick<Concern, 'activeStrategyId' | 'runState' | 'riskMode'>>;
export type Given = Partial<Pick<Facts, 'degraded' | 'policy' | 'unrunnable'>> & {
  readonly unknown?: boolean;
};

/** The default request of a row. */
export const decisionOf = (request: Request): ControlDecision => ({
  decisionId: 'd1',
  concernId: 'acc:xrpusd',
  accountId: 'acc',
  marketSymbol: 'xrpusd',
  action: 'pause',
  reason: 'r',
  confidence: 0.8,
  dryRun: false,
  override: false,
  expectedActiveStrategyId: 'trend',
  ...request,
});

export const to = (targetStrategyId: string): Request => ({ action: 'switch', targetStrategyId });
const NOTHING: State = { activeStrategyId: null };
const PAUSED: State = { runState: 'paused' };
const none: Request = { expectedActiveStrategyId: null };
const risk = (riskMode: Concern['riskMode']): Request => ({ action: 'set_risk_mode', riskMode });
export const DEGRADED: Given = { degraded: true };
const REDUCING: State = { riskMode: 'reduce_only' };
const UNRUNNABLE: Given = { unrunnable: 'params.levels is missing' };
const CAREFUL: Given = { policy: { ...POLICY, minConfidence: 0.9 } };
export const at = (seconds: number): Request => ({
  requestedAt: new Date(NOW + seconds * 1000).toISOString(),
});

export type Row = [
  name: string,
  request: Request,
  outcome: string,
  state?: State,
  given?: Given,
  changed?: State,
];

/** The decision table (docs/trader.md#decision-table): a status, its codes, `!` with its warnings, and the new state. */
export const TABLE: Row[] = [
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
  ['switch to one that cannot run', to('grid'), 'rejected target_not_runnable', {}, UNRUNNABLE],
  ['resume one that cannot run', { action: 'resume' }, 'rejected target_not_runnable', PAUSED, UNRUNNABLE],
  ['pause one that cannot run', {}, 'applied', {}, UNRUNNABLE, PAUSED],
  [
    'resume a disabled one',
    { action: 'resume', expectedActiveStrategyId: 'off' },
    'rejected target_not_runnable',
    { ...PAUSED, activeStrategyId: 'off' },
  ],
  ['something was expected, nothing is active', to('grid'), 'rejected expected_active_mismatch', NOTHING],
  [
    'resume degraded, override',
    { action: 'resume', override: true },
    'applied !override_used',
    PAUSED,
    DEGRADED,
    { runState: 'running' },
  ],
  [
    'risk up degraded, override',
    { ...risk('normal'), override: true },
    'applied !override_used',
    { riskMode: 'halted' },
    DEGRADED,
    { riskMode: 'normal' },
  ],
  ['risk up from reduce_only, degraded', risk('cautious'), 'rejected execution_degraded', REDUCING, DEGRADED],
  ['same risk degraded', risk('normal'), 'noop !allowed_while_degraded', {}, DEGRADED],
  [
    'switch to what is active, less risk, degraded',
    { ...to('trend'), riskMode: 'reduce_only' },
    'applied !allowed_while_degraded',
    {},
    DEGRADED,
    { riskMode: 'reduce_only' },
  ],
  [
    'switch to what is active, more risk, degraded',
    { ...to('trend'), riskMode: 'normal' },
    'rejected execution_degraded',
    REDUCING,
    DEGRADED,
  ],
  ['switch to what is active, degraded', to('trend'), 'rejected execution_degraded', {}, DEGRADED],
  [
    'switch to another with less risk, degraded',
    { ...to('grid'), riskMode: 'halted' },
    'rejected execution_degraded',
    {},
    DEGRADED,
  ],
  [
    'pause degraded, strictly, override',
    { override: true },
    'applied !override_used',
    {},
    { degraded: true, policy: { ...POLICY, strictDegraded: true } },
    PAUSED,
  ],
  ['resume at low confidence', { action: 'resume' }, 'rejected confidence_too_low', PAUSED, CAREFUL],
  ['risk up at low confidence', risk('normal'), 'rejected confidence_too_low', REDUCING, CAREFUL],
  [
    'risk down at low confidence',
    risk('halted'),
    'applied !allowed_at_low_confidence',
    {},
    CAREFUL,
    { riskMode: 'halted' },
  ],
  [
    'just enough confidence',
    { ...to('grid'), confidence: 0.9 },
    'applied',
    {},
    CAREFUL,
    { activeStrategyId: 'grid' },
  ],
  ['wrong market', { marketSymbol: 'y' }, 'rejected market_mismatch'],
  [
    'all guards at once, override',
    { ...to('grid'), ...at(-999), override: true, expectedActiveStrategyId: 'off' },
    'applied !override_used !override_used !override_used !override_used',
    {},
    { degraded: true, policy: { ...POLICY, minConfidence: 0.9 } },
    { activeStrategyId: 'grid' },
  ],
  [
    'the first guard that fails is the one that is told',
    { ...to('grid'), ...at(-999), expectedActiveStrategyId: 'off' },
    'rejected stale_request',
    {},
    { degraded: true, policy: { ...POLICY, minConfidence: 0.9 } },
  ],
  ...(
    [
      ['an unknown concern', { concernId: 'x' }, 'unknown_concern', {}, { unknown: true }],
      ['a wrong account', { accountId: 'x' }, 'account_mismatch'],
      ['a missing target', to('nobody'), 'target_not_found'],
      ['a target of another concern', to('foreign'), 'target_scope_mismatch'],
      ['a disabled target', to('off'), 'target_not_runnable'],
      ['nothing to pause', none, 'no_active_strategy', NOTHING],
    ] as const satisfies readonly [string, Request, string, State?, Given?][]
  ).map(
    ([name, request, code, state = {}, given = {}]): Row => [
      `override does not help against ${name}`,
      { ...request, override: true },
      `rejected ${code}`,
      state,
      given,
    ],
  ),
  ['dry run degraded', { ...to('grid'), dryRun: true }, 'rejected execution_degraded', {}, DEGRADED],
  ['dry run of a pause degraded', { dryRun: true }, 'noop !allowed_while_degraded', {}, DEGRADED],
  ['dry run of another expectation', { ...none, dryRun: true }, 'rejected expected_active_mismatch'],
];

/** A status, its codes, and `!` with its warnings. */
export const said = ({ status, errors, warnings }: ControlResponse): string =>
  [status, ...errors.map(({ code }) => code), ...warnings.map(({ code }) => `!${code}`)].join(' ');
