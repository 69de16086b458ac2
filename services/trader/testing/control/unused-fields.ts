import type { Concern } from '@hermes-fleet/market';
import { type Request, type Row, type State, to } from './decisions.ts';

const NOTHING: State = { activeStrategyId: null };
const PAUSED: State = { runState: 'paused' };
const none: Request = { expectedActiveStrategyId: null };
const halt: Request = { action: 'set_risk_mode', riskMode: 'halted' };
/** Fields that the action does not use, with values. */
const unused = (targetStrategyId: string, riskMode?: Concern['riskMode']): Request => ({
  targetStrategyId,
  ...(riskMode !== undefined && { riskMode }),
  unused: ['target_strategy_id', ...(riskMode === undefined ? [] : (['risk_mode'] as const))],
});

/** The rows of the decision table about fields that the action does not use. */
export const UNUSED_FIELDS: readonly Row[] = [
  [
    'pause with fields that it does not use',
    { unused: ['target_strategy_id', 'risk_mode'] },
    'applied !unused_field !unused_field',
    {},
    {},
    PAUSED,
  ],
  [
    'resume that repeats the present state',
    { action: 'resume', ...unused('trend', 'normal') },
    'applied !unused_field !unused_field',
    PAUSED,
    {},
    { runState: 'running' },
  ],
  ['resume with another target', { action: 'resume', ...unused('grid') }, 'rejected invalid_payload', PAUSED],
  [
    'resume with another risk mode',
    { action: 'resume', ...unused('trend', 'cautious'), override: true },
    'rejected invalid_payload !unused_field',
    PAUSED,
  ],
  [
    'other risk mode with the active strategy as target',
    { ...halt, ...unused('trend') },
    'applied !unused_field',
    {},
    {},
    { riskMode: 'halted' },
  ],
  ['other risk mode with another target', { ...halt, ...unused('grid') }, 'rejected invalid_payload'],
  [
    'other risk mode with a target where nothing is active',
    { ...halt, ...unused('grid'), ...none },
    'rejected invalid_payload',
    NOTHING,
  ],
  [
    'switch with an empty risk mode',
    { ...to('grid'), unused: ['risk_mode'] },
    'applied !unused_field',
    {},
    {},
    { activeStrategyId: 'grid' },
  ],
];
