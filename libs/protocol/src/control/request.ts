import { z } from 'zod';
import { type Camel, camelize } from '../casing.ts';
import { encodeWith } from '../codec.ts';
import type { FieldError } from '../errors.ts';
import { fingerprint } from '../fingerprint.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { jsonMembers } from '../json-span.ts';
import { fieldPath } from '../parse.ts';

/** What Hermes may ask of a trader (action contract v0.1, Supported actions); `keep` is none of it. */
export const ControlAction = z.enum(['switch', 'pause', 'resume', 'set_risk_mode']);
export type ControlAction = z.infer<typeof ControlAction>;

/** From the boldest to the safest: full size, half size, positions only shrink, nothing but cancels (design 4, State). */
export const RiskMode = z.enum(['normal', 'cautious', 'reduce_only', 'halted']);
export type RiskMode = z.infer<typeof RiskMode>;

/** The longest `reason`, in UTF-16 units (design 4, Security). */
export const MAX_REASON_CHARS = 1_000;

const MAX_ID_CHARS = 200;
/** No half surrogate pair, which canonical JSON cannot carry, and nothing that a terminal or a log would act on. */
const isReadable = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);
const id = z
  .string()
  .min(1)
  .max(MAX_ID_CHARS)
  .refine(isReadable, 'holds a control character, or half a surrogate pair');

/**
 * The payload of `apply_control_decision` (action contract v0.1, Request shape). Strict: nothing is coerced, an unknown
 * field is an error, and so is a field that says nothing to the action.
 */
export const ControlDecisionWire = z
  .strictObject({
    decision_id: id.describe('A stable id from the caller: the same decision is applied once'),
    concern_id: id.describe('The account-market concern: <account_id>:<market_symbol>'),
    account_id: id.describe('The account'),
    market_symbol: id.describe('The market'),
    action: ControlAction.describe('What is to be done'),
    target_strategy_id: id.optional().describe('The strategy to switch to; for switch, where it is required'),
    expected_active_strategy_id: id
      .nullable()
      .optional()
      .describe('What the caller believes to be active; null: nothing; absent: unguarded'),
    risk_mode: RiskMode.optional().describe('Required for set_risk_mode; switch may change it too'),
    reason: z
      .string()
      .min(1)
      .max(MAX_REASON_CHARS)
      .refine((text) => text.isWellFormed(), 'holds half a surrogate pair')
      .describe('Short and concrete, for the audit'),
    confidence: z.number().min(0).max(1).describe('From 0 to 1'),
    dry_run: z.boolean().optional().describe('Validate and simulate only; false when absent'),
    override: z
      .boolean()
      .optional()
      .describe(
        'Emergency bypass of the guards on expected-active, degraded, stale and confidence; false when absent',
      ),
    requested_at: z.iso.datetime({ offset: true }).optional().describe('When the caller decided'),
  })
  .superRefine(({ action, target_strategy_id: target, risk_mode: risk }, context) => {
    const wrong = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (action === 'switch' && target === undefined) wrong('target_strategy_id', 'is required for switch');
    if (action !== 'switch' && target !== undefined)
      wrong('target_strategy_id', `says nothing to ${action}; leave it out`);
    if (action === 'set_risk_mode' && risk === undefined) wrong('risk_mode', 'is required for set_risk_mode');
    if ((action === 'pause' || action === 'resume') && risk !== undefined)
      wrong('risk_mode', `says nothing to ${action}; use set_risk_mode`);
  });

/** A decision that is well-formed, with its defaults. */
export type ControlDecision = Camel<z.output<typeof ControlDecisionWire>> & {
  readonly dryRun: boolean;
  readonly override: boolean;
};

/** A payload as it was read: a decision, or all that is wrong with it. */
export type ControlReading =
  | { readonly decision: ControlDecision }
  | {
      readonly code: 'invalid_payload' | 'unsupported_action';
      readonly fields: readonly FieldError[];
      /** What it says of itself, where that can be read, for the answer and the audit. */
      readonly said: {
        readonly decisionId: string | null;
        readonly concernId: string | null;
        readonly action: string | null;
        readonly dryRun: boolean;
      };
    };

/**
 * Reads a payload as it arrived. Names every wrong field, and says of none what stood in it; `unsupported_action` where
 * the action is one that the contract does not have. A name that stands twice is wrong: `JSON.parse` would silently take
 * the last. Never throws.
 */
export function readControlDecision(text: string): ControlReading {
  let payload: JsonValue;
  try {
    payload = JSON.parse(text);
  } catch {
    return unreadable([{ path: '', reason: 'is not JSON' }], undefined);
  }
  if (Array.isArray(payload))
    return unreadable([{ path: '', reason: 'is a batch; send one decision at a time' }], undefined);
  if (!isJsonObject(payload)) return unreadable([{ path: '', reason: 'is not a JSON object' }], undefined);
  const repeated = repeatedNames(text).map((path) => ({ path, reason: 'stands here more than once' }));
  const parsed = ControlDecisionWire.safeParse(payload);
  if (!parsed.success || repeated.length > 0) {
    const wrong = parsed.success ? [] : parsed.error.issues.map(fieldError);
    return unreadable([...repeated, ...wrong], payload);
  }
  const decision = camelize(ControlDecisionWire, parsed.data);
  return {
    decision: { ...decision, dryRun: decision.dryRun ?? false, override: decision.override ?? false },
  };
}

/** What makes two payloads the same decision: everything but when it was asked for (design 4, State). */
export function controlFingerprint(decision: ControlDecision): string {
  const { requested_at: _requestedAt, ...same } = encodeWith(ControlDecisionWire, decision);
  return fingerprint(same);
}

function unreadable(fields: readonly FieldError[], payload: JsonObject | undefined): ControlReading {
  const own = (name: string): JsonValue | undefined =>
    payload !== undefined && Object.hasOwn(payload, name) ? payload[name] : undefined;
  const said = (name: string): string | null => {
    const parsed = id.safeParse(own(name));
    return parsed.success ? parsed.data : null;
  };
  const action = own('action');
  const isUnknown = typeof action === 'string' && !ControlAction.safeParse(action).success;
  return {
    code: isUnknown ? 'unsupported_action' : 'invalid_payload',
    fields,
    said: {
      decisionId: said('decision_id'),
      concernId: said('concern_id'),
      action: said('action'),
      dryRun: own('dry_run') === true,
    },
  };
}

/** What an issue is about, without the caller's words: an unknown name is told only where it reads like a name. */
function fieldError(issue: z.core.$ZodIssue): FieldError {
  const path = fieldPath(issue.path);
  if (path === 'action' && issue.code === 'invalid_value')
    return { path, reason: `is none of ${ControlAction.options.join(', ')}; keep is not sent at all` };
  if (issue.code !== 'unrecognized_keys') return { path, reason: issue.message };
  const named = issue.keys.filter((key) => /^\w{1,40}$/.test(key)).slice(0, 5);
  const others = issue.keys.length - named.length;
  const names = [...named, ...(others === 0 ? [] : [`${others} more`])].join(', ');
  return { path, reason: `holds fields that the contract does not have: ${names}` };
}

/** A name of the contract, or '' for any other, which is wrong anyway. */
function repeatedNames(text: string): string[] {
  const names = (jsonMembers(text) ?? []).map(({ name }) => name);
  const repeated = names.filter((name, at) => names.indexOf(name) !== at);
  return [...new Set(repeated.map((name) => (Object.hasOwn(ControlDecisionWire.shape, name) ? name : '')))];
}
