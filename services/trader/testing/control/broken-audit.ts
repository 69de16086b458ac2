import { type Given, POLICY, type Request, type Row, to } from './decisions.ts';

const BROKEN: Given = { brokenAudit: 'record 4 of the audit: it was changed' };
const STRICT: Given = { ...BROKEN, policy: { ...POLICY, strictDegraded: true } };
const override: Request = { override: true };
const risk = (riskMode: 'normal' | 'cautious'): Request => ({ action: 'set_risk_mode', riskMode });

/** The rows of a broken audit, which no override passes. */
export const BROKEN_AUDIT: readonly Row[] = [
  ['switch on a broken audit', to('grid'), 'rejected execution_degraded', {}, BROKEN],
  [
    'switch on a broken audit, override',
    { ...to('grid'), ...override },
    'rejected execution_degraded',
    {},
    BROKEN,
  ],
  [
    'resume on a broken audit, override',
    { action: 'resume', ...override },
    'rejected execution_degraded',
    { runState: 'paused' },
    STRICT,
  ],
  [
    'risk up on a broken audit, override',
    { ...risk('normal'), ...override },
    'rejected execution_degraded',
    { riskMode: 'halted' },
    BROKEN,
  ],
  ['pause on a broken audit', {}, 'applied !allowed_while_degraded', {}, BROKEN, { runState: 'paused' }],
  [
    'pause on a broken audit, strictly',
    {},
    'applied !allowed_while_degraded',
    {},
    STRICT,
    { runState: 'paused' },
  ],
  [
    'risk down on a broken audit, strictly',
    risk('cautious'),
    'applied !allowed_while_degraded',
    {},
    STRICT,
    { riskMode: 'cautious' },
  ],
];
