import { FleetError } from '@hermes-fleet/protocol';
import { APICallError, StreamProviderError } from 'ai';
import { cleanedError } from '../../messages/secrets.ts';
import { providerFailure, redirectFailure, redirectIn, saidBy } from '../provider/provider-failure.ts';
import { SilenceError, silenceFailure } from './silence.ts';

export interface CallFailure {
  /**
   * `final`: no use in another try; `refused`, `unreachable`: nothing was processed; `broken`, `silent`: no end or start.
   */
  readonly kind: 'final' | 'refused' | 'unreachable' | 'broken' | 'silent';
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** MODEL_FAILED, with the provider's error as its cause, without secrets (`cleanedError`). */
  readonly error: FleetError;
}

/** An answer ended without saying why: its connection was cut in a way that looks like an end. */
export class UnfinishedAnswerError extends Error {
  override readonly name = 'UnfinishedAnswerError';
}

interface FailedAttempt {
  readonly hasBegun: boolean;
  /** In ms since the epoch, for a `Retry-After` that is a date. */
  readonly now: number;
  readonly secrets: readonly string[];
}

export function callFailure(thrown: unknown, { hasBegun, now, secrets }: FailedAttempt): CallFailure {
  const plain = { status: undefined, retryAfterMs: undefined };
  if (thrown instanceof FleetError) return { ...plain, kind: 'final', error: thrown };
  if (thrown instanceof SilenceError) return { ...plain, kind: 'silent', error: silenceFailure(thrown) };
  const redirect = redirectIn(thrown);
  if (redirect !== undefined) return { ...plain, kind: 'final', error: redirectFailure(redirect, secrets) };
  const said = saidBy(thrown, secrets);
  const cause = cleanedError(thrown, secrets);
  // An answer of 200 whose first part could not be read broke off too.
  if (APICallError.isInstance(thrown) && !hasBegun && thrown.statusCode !== 200)
    return refusal(thrown, { cause, said, now });
  const status = StreamProviderError.isInstance(thrown) ? thrown.statusCode : undefined;
  const isFinal = StreamProviderError.isInstance(thrown) && NO_MONEY.test(JSON.stringify(thrown.data ?? ''));
  const mayPass = !isFinal && (status === undefined || isTransient(status));
  if (mayPass && status !== undefined && !hasBegun) {
    const error = providerFailure(status, { cause, retryable: true, said });
    return { kind: 'refused', status, retryAfterMs: undefined, error };
  }
  const what =
    status === undefined
      ? 'the answer of the model broke off'
      : `the model's provider broke an answer off with ${status}`;
  const message = said === undefined ? `${what}; the log has the reason` : `${what}: ${said}`;
  const error = new FleetError('MODEL_FAILED', message, { retryable: mayPass, cause });
  return { ...plain, status, kind: mayPass ? 'broken' : 'final', error };
}

function refusal(
  thrown: APICallError,
  { now, ...told }: { readonly cause: Error; readonly said: string | undefined; readonly now: number },
): CallFailure {
  const { statusCode: status } = thrown;
  const isBroken = [400, 422].includes(status ?? 0) && /failed_generation/.test(thrown.responseBody ?? '');
  const mayPass =
    isBroken || (status === undefined ? !isTlsError(thrown) : isTransient(status) && !isForGood(thrown));
  const refused = status === undefined ? 'unreachable' : 'refused';
  const kind = isBroken ? 'broken' : refused;
  return {
    kind: mayPass ? kind : 'final',
    status,
    retryAfterMs: retryAfterMs(thrown.responseHeaders ?? {}, now) ?? retryInfoMs(thrown.responseBody),
    error: providerFailure(status, { ...told, retryable: mayPass }),
  };
}

/** Timeout, too early, too many requests, and errors of the server, but not of a method or version that it lacks. */
const isTransient = (status: number): boolean =>
  [408, 425, 429].includes(status) || (status >= 500 && status !== 501 && status !== 505);

/** An account without money, in the words of OpenAI, Moonshot and DashScope. */
const NO_MONEY = /"(?:insufficient_quota|exceeded_current_quota_error|billing_\w+|Arrearage)"/;

/** The provider says that trying again does not help, or that the account has no money. */
const isForGood = ({ responseHeaders, responseBody }: APICallError): boolean =>
  responseHeaders?.['x-should-retry'] === 'false' || NO_MONEY.test(responseBody ?? '');

/** A certificate that is not valid now will not be in a minute. */
function isTlsError({ cause }: APICallError): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /^(?:CERT_|ERR_TLS_|ERR_SSL_)|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/.test(code);
}

/** https://www.rfc-editor.org/rfc/rfc9110#field.retry-after, and `retry-after-ms` of some providers. */
function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const exact = number(headers['retry-after-ms']);
  const after = headers['retry-after'] ?? '';
  const seconds = number(after);
  const delay = seconds === undefined ? Date.parse(after) - now : seconds * 1000;
  const ms = exact ?? delay;
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/** The delay of Google's RetryInfo, e.g. `32.5s`: https://google.aip.dev/193. */
function retryInfoMs(body = ''): number | undefined {
  const seconds = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(body)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** Undefined for a header that is absent, empty, negative, or no number. */
const number = (header = ''): number | undefined =>
  /^\s*\d+(?:\.\d*)?\s*$/.test(header) ? Number(header) : undefined;
