import { type OptionSpecs, usage } from '../command-line/command.ts';
import { ENTRY_POINT_OPTIONS, FLEET_OPTIONS } from '../command-line/shared-options.ts';

const { profile: _, ...TRADER_OPTIONS } = FLEET_OPTIONS;

/** Options that describe a decision; the alternative is a file that holds one. */
export const DECISION_OPTIONS = {
  action: { type: 'string', value: 'action', help: 'the action (docs/trader.md)' },
  concern: { type: 'string', value: 'account:market', help: 'needed if the trader has several' },
  target: { type: 'string', value: 'strategy', help: 'the strategy to switch to' },
  expected: { type: 'string', value: 'strategy', help: 'the strategy that must be active now, or none' },
  'risk-mode': { type: 'string', value: 'mode', help: 'the new risk mode' },
  reason: { type: 'string', help: 'why; it is kept in the audit' },
  confidence: { type: 'string', value: '0..1', help: '1 by default' },
  id: { type: 'string', help: 'the id of the decision; the same one is applied once' },
  'dry-run': { type: 'boolean', help: 'only judge it' },
  override: { type: 'boolean', help: 'decide although a rule would hold it back' },
} as const satisfies OptionSpecs;

export const traderListUsage = usage({
  name: 'trader list',
  summary: 'print the strategies',
  options: {
    ...TRADER_OPTIONS,
    account: { type: 'string', value: 'id', help: 'of this account only' },
    market: { type: 'string', value: 'symbol', help: 'of this market only' },
    status: { type: 'string', value: 'status', help: 'with this status only' },
  },
  examples: ['trader list --status active'],
});

export const traderGetUsage = usage({
  name: 'trader get',
  summary: 'print a strategy with its position, orders and control state',
  args: '<id>',
  options: TRADER_OPTIONS,
  examples: ['trader get trend'],
});

export const traderDecideUsage = usage({
  name: 'trader decide',
  summary: 'send a control decision, from a file (- for stdin) or from options',
  args: '[file]',
  options: { ...TRADER_OPTIONS, ...DECISION_OPTIONS },
  examples: ["trader decide --action pause --reason 'news at noon'", 'trader decide decision.json --json'],
});

export const traderAccountResetUsage = usage({
  name: 'trader account reset',
  summary: 'cancel all orders, and open the paper account anew with the balances of trader.yaml',
  options: {
    ...TRADER_OPTIONS,
    concern: { type: 'string', value: 'account:market', help: 'the concern whose account is reset' },
    reason: { type: 'string', help: 'why; it is kept in the audit' },
  },
  examples: ["trader account reset --concern acct:xrpusd --reason 'new balances'"],
});

export const AUDIT_LIMIT = 100;
export const MAX_AUDIT_LIMIT = 1_000;

export const traderAuditVerifyUsage = usage({
  name: 'trader audit verify',
  summary: "verify the audit in the trader's file, whether the trader runs or not",
  options: {
    ...ENTRY_POINT_OPTIONS,
    witness: {
      type: 'string',
      value: 'json',
      help: 'the heads that the console has seen, as `fleet console heads --json` prints them; with --as-is',
    },
  },
  examples: ['trader audit verify'],
});

export const traderAuditShowUsage = usage({
  name: 'trader audit show',
  summary: "print the audit from the trader's file",
  options: {
    ...ENTRY_POINT_OPTIONS,
    after: { type: 'string', value: 'record', help: 'start after this record' },
    limit: {
      type: 'string',
      value: 'n',
      help: `how many records; ${AUDIT_LIMIT} by default, at most ${MAX_AUDIT_LIMIT}`,
    },
  },
  examples: ['trader audit show --limit 10'],
});

export const traderAuditAcceptUsage = usage({
  name: 'trader audit accept',
  summary: 'show what is wrong with the audit of the running trader, and accept it',
  options: {
    ...TRADER_OPTIONS,
    finding: { type: 'string', value: 'id', help: 'accept what was shown under this id' },
    reason: { type: 'string', help: 'why; it is kept in the audit' },
  },
  examples: ['trader audit accept', "trader audit accept --finding 1f2e3d4c --reason 'backup restored'"],
});
