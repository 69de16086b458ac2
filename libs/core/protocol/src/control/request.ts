import { hash } from 'node:crypto';
import { z } from 'zod';
import type { FieldError } from '../errors.ts';
import { type Camel, camelize } from '../wire/casing.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../wire/json.ts';
import { jsonMembers } from '../wire/json-text.ts';
import { fieldPath } from '../wire/parse.ts';

/** The actions of a control decision (docs/trader.md#request). `keep` is not an action: it needs no request. */
export const ControlAction = z.enum(['switch', 'pause', 'resume', 'set_risk_mode']);
export type ControlAction = z.infer<typeof ControlAction>;

/**
 * From full risk to none: full size, half size, only reductions of positions, only cancellations
 * (docs/trader.md#state).
 */
export const RiskMode = z.enum(['normal', 'cautious', 'reduce_only', 'halted']);
export type RiskMode = z.infer<typeof RiskMode>;

/** The maximum length of `reason`, in UTF-16 code units. */
export const MAX_REASON_CHARS = 1_000;

const MAX_ID_CHARS = 200;
/**
 * Excludes lone surrogates, which canonical JSON cannot represent, and control characters, which terminals interpret.
 */
const isReadable = (text: string): boolean => text.isWellFormed() && !/\p{Cc}/u.test(text);
const id = z
  .string()
  .min(1)
  .max(MAX_ID_CHARS)
  .refine(isReadable, 'contains a control character or a lone surrogate');

/**
 * The payload of `apply_control_decision` (docs/trader.md#request). Strict: no value is coerced; an unknown field, and
 * a field that does not apply to the action, are errors.
 */
export const ControlDecisionWire = z
  .strictObject({
    decision_id: id.describe('Stable id from the caller: a decision is applied once'),
    concern_id: id.describe('Account-market concern: <account_id>:<market_symbol>'),
    account_id: id.describe('Account of the concern'),
    market_symbol: id.describe('Market of the concern'),
    action: ControlAction.describe('Action to apply'),
    target_strategy_id: id
      .nullable()
      .optional()
      .describe('Strategy to switch to; required for switch. Elsewhere absent, null, or the active strategy'),
    expected_active_strategy_id: id
      .nullable()
      .optional()
      .describe('Strategy that the caller expects to be active; null: none; absent: no guard'),
    risk_mode: RiskMode.nullable()
      .optional()
      .describe(
        'Required for set_risk_mode, optional for switch. Elsewhere absent, null, or the present one',
      ),
    reason: z
      .string()
      .min(1)
      .max(MAX_REASON_CHARS)
      .refine((text) => text.isWellFormed(), 'contains a lone surrogate')
      .describe('Short and concrete reason, for the audit log'),
    confidence: z.number().min(0).max(1).describe('From 0 to 1'),
    dry_run: z.boolean().optional().describe('Validate and simulate only; default: false'),
    override: z
      .boolean()
      .optional()
      .describe(
        'Emergency bypass of the guards on expected-active, degraded, stale and confidence; default: false',
      ),
    requested_at: z.iso.datetime({ offset: true }).optional().describe('Time of the decision'),
  })
  .superRefine(({ action, target_strategy_id: target, risk_mode: risk }, context) => {
    const wrong = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (action === 'switch' && target == null) wrong('target_strategy_id', 'is required for switch');
    if (action === 'set_risk_mode' && risk == null) wrong('risk_mode', 'is required for set_risk_mode');
  });

/** The fields that not every action uses. */
const SOMETIMES_USED = ['target_strategy_id', 'risk_mode'] as const;
export type SometimesUsed = (typeof SOMETIMES_USED)[number];

/** A valid decision, with defaults. A field with null is one that was left out. */
export type ControlDecision = Omit<
  Camel<z.output<typeof ControlDecisionWire>>,
  'targetStrategyId' | 'riskMode'
> & {
  readonly targetStrategyId?: string | undefined;
  readonly riskMode?: RiskMode | undefined;
  readonly dryRun: boolean;
  readonly override: boolean;
  /** Fields that the payload has and the action does not use, or that it has as null. */
  readonly unused: readonly SometimesUsed[];
};

/** A decision, or everything that is wrong with the payload. */
export type ControlReading =
  | { readonly decision: ControlDecision }
  | {
      readonly code: 'invalid_payload' | 'unsupported_action';
      readonly fields: readonly FieldError[];
      /** The readable part of an invalid payload, for the response and the audit log. */
      readonly summary: {
        readonly decisionId: string | null;
        readonly concernId: string | null;
        readonly action: string | null;
        readonly dryRun: boolean;
      };
    };

/**
 * Reads the text of a payload. Names every invalid field, without its value. Reports `unsupported_action` for an
 * unknown action. A duplicate name is an error, because `JSON.parse` would silently take the last. Never throws.
 */
export function readControlDecision(text: string): ControlReading {
  const payload = parseJson(text);
  if (payload === undefined) return invalid([{ path: '', reason: 'is not JSON' }], undefined);
  if (Array.isArray(payload))
    return invalid([{ path: '', reason: 'is a batch; send one decision at a time' }], undefined);
  if (!isJsonObject(payload)) return invalid([{ path: '', reason: 'is not a JSON object' }], undefined);
  const repeated = repeatedNames(text, payload).map((path) => ({ path, reason: 'occurs more than once' }));
  const parsed = ControlDecisionWire.safeParse(payload.action === 'pause' ? withoutUnused(payload) : payload);
  if (!parsed.success || repeated.length > 0) {
    const issues = parsed.success ? [] : parsed.error.issues.map(fieldError);
    return invalid([...repeated, ...issues], payload);
  }
  const { targetStrategyId, riskMode, ...decision } = camelize(ControlDecisionWire, parsed.data);
  return {
    decision: {
      ...decision,
      ...(targetStrategyId != null && { targetStrategyId }),
      ...(riskMode != null && { riskMode }),
      dryRun: decision.dryRun ?? false,
      override: decision.override ?? false,
      unused: unusedOf(payload, decision.action),
    },
  };
}

/** A pause takes effect whatever stands in the fields that it does not use: a caller that fills every field can stop trading. */
function withoutUnused(payload: JsonObject): JsonObject {
  const { target_strategy_id: _, risk_mode: __, ...used } = payload;
  return used;
}

const USES: Record<ControlAction, readonly SometimesUsed[]> = {
  switch: SOMETIMES_USED,
  set_risk_mode: ['risk_mode'],
  pause: [],
  resume: [],
};

const unusedOf = (payload: JsonObject, action: ControlAction): SometimesUsed[] =>
  SOMETIMES_USED.filter(
    (name) => Object.hasOwn(payload, name) && (payload[name] === null || !USES[action].includes(name)),
  );

type Wire = z.output<typeof ControlDecisionWire>;
/** Optional names are required here, so that no new name of the schema is left out of the fingerprint. */
type FingerprintPayload = { readonly [N in Exclude<keyof Wire, 'requested_at'>]-?: Wire[N] | undefined };

/**
 * The fingerprint of a decision, without `requested_at`: a repeated request is the same decision. It also lacks what a pause
 * does not use, and null in a field is the same as no field. It is the SHA-256, in hex,
 * of the canonical form (RFC 8785) of the payload with defaults. `JSON.stringify` writes that form, because the names are in
 * order and a valid decision has no lone surrogate.
 */
export function controlFingerprint(decision: ControlDecision): string {
  const payload: FingerprintPayload = {
    account_id: decision.accountId,
    action: decision.action,
    concern_id: decision.concernId,
    confidence: decision.confidence,
    decision_id: decision.decisionId,
    dry_run: decision.dryRun,
    expected_active_strategy_id: decision.expectedActiveStrategyId,
    market_symbol: decision.marketSymbol,
    override: decision.override,
    reason: decision.reason,
    risk_mode: decision.riskMode,
    target_strategy_id: decision.targetStrategyId,
  };
  return hash('sha256', JSON.stringify(payload));
}

function invalid(fields: readonly FieldError[], payload: JsonObject | undefined): ControlReading {
  const own = (name: string): JsonValue | undefined =>
    payload !== undefined && Object.hasOwn(payload, name) ? payload[name] : undefined;
  const readId = (name: string): string | null => {
    const parsed = id.safeParse(own(name));
    return parsed.success ? parsed.data : null;
  };
  const action = own('action');
  const isUnknown = typeof action === 'string' && !ControlAction.safeParse(action).success;
  return {
    code: isUnknown ? 'unsupported_action' : 'invalid_payload',
    fields,
    summary: {
      decisionId: readId('decision_id'),
      concernId: readId('concern_id'),
      action: readId('action'),
      dryRun: own('dry_run') === true,
    },
  };
}

/** Contains no text of the caller, except unknown field names that look like names. */
function fieldError(issue: z.core.$ZodIssue): FieldError {
  const path = fieldPath(issue.path);
  if (path === 'action' && issue.code === 'invalid_value')
    return { path, reason: `is not one of ${ControlAction.options.join(', ')}; keep is not sent at all` };
  if (issue.code !== 'unrecognized_keys') return { path, reason: issue.message };
  const named = issue.keys.filter((key) => /^\w{1,40}$/.test(key)).slice(0, 5);
  const others = issue.keys.length - named.length;
  const names = [...named, ...(others === 0 ? [] : [`${others} more`])].join(', ');
  return { path, reason: `contains unknown fields: ${names}` };
}

/** Names of the contract that occur more than once; '' stands for any other name, which is invalid anyway. */
function repeatedNames(text: string, payload: JsonObject): string[] {
  const members = jsonMembers(text) ?? [];
  if (members.length === Object.keys(payload).length) return [];
  const names = members.map(({ name }) => name);
  const repeated = names.filter((name, at) => names.indexOf(name) !== at);
  return [...new Set(repeated.map((name) => (Object.hasOwn(ControlDecisionWire.shape, name) ? name : '')))];
}
