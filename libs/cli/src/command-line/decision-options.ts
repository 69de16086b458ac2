import { randomUUID } from 'node:crypto';
import { type JsonObject, readControlDecision } from '@hermes-fleet/protocol';
import { definedFields, invalidFields, UsageError } from './options.ts';

/** Options that describe a decision; the alternative is a file that holds one. */
export const DECISION_OPTIONS = {
  action: { type: 'string' },
  concern: { type: 'string' },
  target: { type: 'string' },
  expected: { type: 'string' },
  'risk-mode': { type: 'string' },
  reason: { type: 'string' },
  confidence: { type: 'string' },
  id: { type: 'string' },
  'dry-run': { type: 'boolean' },
  override: { type: 'boolean' },
} as const;

export type DecisionValues = { readonly [K in keyof typeof DECISION_OPTIONS]?: string | boolean | undefined };

export const describesDecision = (values: DecisionValues): boolean =>
  Object.keys(DECISION_OPTIONS).some((key) => key in values);

/**
 * Builds the wire form of a decision from options. The confidence defaults to 1; `--expected none` expects that no
 * strategy is active. Throws UsageError that names every invalid field.
 */
export function decisionOf(values: DecisionValues, concern: string, now: number): JsonObject {
  const text = (name: keyof DecisionValues): string | undefined => {
    const value = values[name];
    return typeof value === 'string' ? value : undefined;
  };
  const [account = '', ...market] = concern.split(':');
  const expected = text('expected');
  const decision = definedFields({
    decision_id: text('id') ?? `cli-${randomUUID()}`,
    concern_id: concern,
    account_id: account,
    market_symbol: market.join(':'),
    action: text('action'),
    target_strategy_id: text('target'),
    expected_active_strategy_id: expected === 'none' ? null : expected,
    risk_mode: text('risk-mode'),
    reason: text('reason'),
    confidence: confidenceOf(text('confidence')),
    dry_run: values['dry-run'] === true ? true : undefined,
    override: values.override === true ? true : undefined,
    requested_at: new Date(now).toISOString(),
  });
  const reading = readControlDecision(JSON.stringify(decision));
  if ('decision' in reading) return decision;
  throw invalidFields(reading.fields);
}

function confidenceOf(text: string | undefined): number {
  if (text === undefined) return 1;
  if (!/^(0|1|0?\.\d+|[01]\.\d+)$/.test(text))
    throw new UsageError(`--confidence must be a number from 0 to 1, not "${text}"`);
  return Number(text);
}
