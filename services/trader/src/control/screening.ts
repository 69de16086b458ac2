import {
  type ControlCode,
  type ControlDecision,
  type ControlReading,
  readControlDecision,
} from '@hermes-fleet/protocol/control';
import type { Caller } from '@hermes-fleet/protocol/ports';
import { type Access, DECIDE, lacksScope, mayTouch, OVERRIDE } from './access.ts';
import type { Answer, Attempt } from './decision-service.ts';
import type { Limiter } from './limits.ts';
import { createDraft, type Failure, type PayloadSummary, summaryOf } from './response-draft.ts';

/** Largest payload, in bytes of UTF-8 (docs/trader.md#security). */
export const MAX_PAYLOAD_BYTES = 16 * 1024;

/** A decision to be judged, or the answer to a refused attempt. */
export type Screened = { readonly decision: ControlDecision } | Answer;

export const isTooLarge = (text: string): boolean => Buffer.byteLength(text) > MAX_PAYLOAD_BYTES;

const STATUS: ReadonlyMap<ControlCode, Answer['httpStatus']> = new Map([
  ['forbidden', 403],
  ['payload_too_large', 413],
  ['rate_limited', 429],
]);

/** A pause that may use the reserved part of the burst; a dry run may not. */
export const isRealPause = ({ action, dryRun }: ControlDecision): boolean => action === 'pause' && !dryRun;

const UNREAD: PayloadSummary = { decisionId: null, concernId: null, action: null, dryRun: false };

/** The answer to an attempt that is refused before it is judged. It reveals nothing of the concern. */
export function refusal(
  summary: PayloadSummary | undefined,
  errors: readonly [Failure, ...Failure[]],
  {
    schemaValid = null,
    ...retry
  }: { readonly schemaValid?: boolean | null; readonly retryAfterS?: number } = {},
): Answer {
  const draft = createDraft(summary ?? UNREAD);
  draft.validation.schemaValid = schemaValid;
  const result = { modeChange: 'none' as const, reconciled: true };
  const response = draft.answer({ status: 'rejected', result, before: undefined, after: undefined, errors });
  return { response, httpStatus: STATUS.get(errors[0].code) ?? 200, ...retry };
}

/** Summarizes a payload; undefined if it was not read. */
export function summaryOfText(text: string | null): PayloadSummary | undefined {
  if (text === null || isTooLarge(text)) return undefined;
  return summaryOfReading(readControlDecision(text));
}

const summaryOfReading = (reading: ControlReading): PayloadSummary =>
  'decision' in reading ? summaryOf(reading.decision) : reading.summary;

/** The checks before the judgment: scope, rate, size, schema, account (docs/trader.md#decision-table). */
export function createScreening(options: {
  access: Access;
  limiter: Limiter;
  isConcern: (id: string) => boolean;
}): (attempt: Attempt) => Screened {
  return ({ caller, text }) => {
    const reading = text === null || isTooLarge(text) ? undefined : readControlDecision(text);
    const summary = reading && summaryOfReading(reading);
    if (!caller.scopes.has(DECIDE))
      return refusal(summary, [{ code: 'forbidden', message: lacksScope(DECIDE) }]);

    const concernId = summary?.concernId ?? '';
    const isPause = reading !== undefined && 'decision' in reading && isRealPause(reading.decision);
    // Unknown concerns share one bucket, so that made-up names do not evade the limit.
    const retryAfterS = options.limiter.takeToken(
      caller.name,
      options.isConcern(concernId) ? concernId : '',
      isPause,
    );
    if (retryAfterS > 0) {
      const message = `too many decisions about this concern; retry in ${retryAfterS} s`;
      return refusal(summary, [{ code: 'rate_limited', message }], { retryAfterS });
    }

    if (reading === undefined) {
      const message = `the payload is larger than ${MAX_PAYLOAD_BYTES} bytes; shorten the reason`;
      return refusal(summary, [{ code: 'payload_too_large', message }]);
    }
    if ('code' in reading) return refusal(summary, schemaFailures(reading), { schemaValid: false });
    return accessRefusal(options.access, caller, reading.decision) ?? reading;
  };
}

function schemaFailures({
  code,
  fields,
}: Extract<ControlReading, { code: string }>): [Failure, ...Failure[]] {
  const [first, ...rest] = fields.map(
    ({ path, reason }): Failure => ({
      code: path === 'action' ? code : 'invalid_payload',
      message: reason,
      ...(path !== '' && { field: path }),
    }),
  );
  return [first ?? { code, message: 'the payload is not valid' }, ...rest];
}

function accessRefusal(access: Access, caller: Caller, decision: ControlDecision): Answer | undefined {
  const forbid = (field: string, message: string): Answer =>
    refusal(summaryOf(decision), [{ code: 'forbidden', field, message }], { schemaValid: true });
  if (!mayTouch(access, caller, decision.accountId))
    return forbid('account_id', 'the caller has no access to the account');
  if (decision.override && !caller.scopes.has(OVERRIDE)) return forbid('override', lacksScope(OVERRIDE));
  return undefined;
}
