import type { Concern, Strategy } from '@hermes-fleet/market';
import type { ControlDecision, ControlResponse } from '@hermes-fleet/protocol/control';
import type { Facts, Policy } from '../../src/control/facts.ts';

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
export type Given = Partial<Pick<Facts, 'degraded' | 'brokenAudit' | 'policy' | 'unrunnable'>> & {
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
  unused: [],
  expectedActiveStrategyId: 'trend',
  ...request,
});

export const to = (targetStrategyId: string): Request => ({ action: 'switch', targetStrategyId });
export const DEGRADED: Given = { degraded: true };
export const at = (seconds: number): Request => ({
  requestedAt: new Date(NOW + seconds * 1000).toISOString(),
});

/** A status, its codes, and `!` with its warnings. */
export const outcomeOf = ({ status, errors, warnings }: ControlResponse): string =>
  [status, ...errors.map(({ code }) => code), ...warnings.map(({ code }) => `!${code}`)].join(' ');

/** A row of the decision table. */
export type Row = [
  name: string,
  request: Request,
  outcome: string,
  state?: State,
  given?: Given,
  changed?: State,
];
