import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { CallFigures } from '../call/call-usage.ts';
import { wordsOf } from '../provider/provider-failure.ts';
import { inside, usageIn } from './chat-usage.ts';

/** An error that a provider wrote into an answer of 200. */
export interface ReportedError {
  /** The HTTP status that it stands for; undefined where it names none. */
  readonly status: number | undefined;
  /** The error in the form of the API: `{ error: { message, ... } }`. */
  readonly body: { readonly error: JsonObject; readonly metered?: CallFigures };
}

/** Words for a status, in the type, code or status of an error. */
const STATUSES: readonly (readonly [RegExp, number])[] = [
  [/rate_?limit|too_?many|quota|resource_?exhausted|throttl/i, 429],
  [/balance|arrear|payment/i, 402],
  [/overloaded|capacity|unavailable/i, 503],
  [/auth|api_?key|permission/i, 401],
  [/not_?found/i, 404],
  [/invalid|bad_?request|context_length|exceed_context|unprocessable/i, 400],
  [/timeout|timed_?out/i, 504],
  [/server|internal/i, 500],
];

/** The error in a frame or a body; undefined where there is none. `event` is the frame's own. */
export function reportedError(frame: JsonObject, event?: string): ReportedError | undefined {
  const [choice] = [frame.choices ?? []].flat();
  const isNamed = event === 'error' || frame.object === 'error' || /error$/i.test(String(frame.type));
  const isBare = choice === undefined && wordsOf(frame) !== undefined && statusOf(frame) !== undefined;
  // MiniMax answers 200, with a status of its own (https://platform.minimax.io/docs/api-reference/errorcode).
  const base = inside(frame.base_resp, 'status_code') && inside(frame.base_resp, 'status_msg');
  const own = [frame.error, inside(choice, 'error'), base && { message: base, type: base }];
  const raw = [...own, (isNamed || isBare) && frame].find(isSaid);
  if (raw === undefined) return undefined;
  const fields = isJsonObject(raw) ? raw : {};
  const message = wordsOf(raw) ?? JSON.stringify(raw);
  const status = statusOf({ ...frame, ...fields });
  const metered = usageIn(frame);
  const error = { ...fields, message, ...(status !== undefined && { status_code: status }) };
  return { status, body: { error, ...(metered !== undefined && { metered }) } };
}

/** False for what says that there is no error: nothing, or an object of nothing. */
const isSaid = (error: JsonValue | undefined): error is JsonValue =>
  isJsonObject(error) ? Object.values(error).some(Boolean) : Boolean(error);

const CODES = ['code', 'status', 'status_code', 'type', 'error_code', 'error_type'];

function statusOf(fields: JsonObject): number | undefined {
  const named = CODES.map((key) => fields[key] ?? '');
  const exact = named.map(Number).find((number) => number >= 400 && number <= 599);
  return exact ?? STATUSES.find(([pattern]) => pattern.test(named.join(' ')))?.[1];
}
