import { flag, type OptionSpecs, text, usage } from '../command-line/command.ts';
import { ENTRY_POINT_OPTIONS, SERVICE_OPTIONS } from '../command-line/shared-options.ts';

/** Options that describe a decision; the alternative is a file that holds one. */
export const DECISION_OPTIONS = {
  action: text('action', 'the action (docs/trader.md)'),
  concern: text('account:market', 'needed if the trader has several'),
  target: text('strategy', 'the strategy to switch to'),
  expected: text('strategy', 'the strategy that must be active now, or none'),
  'risk-mode': text('mode', 'the new risk mode'),
  reason: text('text', 'why; it is kept in the audit'),
  confidence: text('0..1', '1 by default'),
  id: text('text', 'the id of the decision; the same one is applied once'),
  'dry-run': flag('only judge it'),
  override: flag('decide although a rule would hold it back'),
} satisfies OptionSpecs;

export const traderListUsage = usage('trader list', 'print the strategies', {
  options: {
    ...SERVICE_OPTIONS,
    account: text('id', 'of this account only'),
    market: text('symbol', 'of this market only'),
    status: text('status', 'with this status only'),
  },
  examples: ['trader list --status active'],
});

export const traderGetUsage = usage(
  'trader get',
  'print a strategy with its position, orders and control state',
  {
    args: '<id>',
    options: SERVICE_OPTIONS,
    examples: ['trader get trend'],
  },
);

export const traderDecideUsage = usage(
  'trader decide',
  'send a control decision, from a file (- for stdin) or from options',
  {
    args: '[file]',
    options: { ...SERVICE_OPTIONS, ...DECISION_OPTIONS },
    examples: ["trader decide --action pause --reason 'news at noon'", 'trader decide decision.json --json'],
  },
);

export const traderAccountResetUsage = usage(
  'trader account reset',
  'cancel all orders, and open the paper account anew with the balances of trader.yaml',
  {
    options: {
      ...SERVICE_OPTIONS,
      concern: text('account:market', 'the concern whose account is reset'),
      reason: text('text', 'why; it is kept in the audit'),
    },
    examples: ["trader account reset --concern acct:xrpusd --reason 'new balances'"],
  },
);

export const AUDIT_LIMIT = 100;
export const MAX_AUDIT_LIMIT = 1_000;

export const traderAuditVerifyUsage = usage(
  'trader audit verify',
  "verify the audit in the trader's file, whether the trader runs or not",
  {
    options: {
      ...ENTRY_POINT_OPTIONS,
      witness: text(
        'json',
        'the heads that the console has seen, as `fleet console heads --json` prints them; with --as-is',
      ),
    },
  },
);

export const traderAuditShowUsage = usage('trader audit show', "print the audit from the trader's file", {
  options: {
    ...ENTRY_POINT_OPTIONS,
    after: text('record', 'start after this record'),
    limit: text('n', `how many records; ${AUDIT_LIMIT} by default, at most ${MAX_AUDIT_LIMIT}`),
  },
  examples: ['trader audit show --limit 10'],
});

export const traderAuditAcceptUsage = usage(
  'trader audit accept',
  'show what is wrong with the audit of the running trader, and accept it',
  {
    options: {
      ...SERVICE_OPTIONS,
      finding: text('id', 'accept what was shown under this id'),
      reason: text('text', 'why; it is kept in the audit'),
    },
    examples: ['trader audit accept', "trader audit accept --finding 1f2e3d4c --reason 'backup restored'"],
  },
);
