import { RedirectError } from '@hermes-fleet/net';
import { FleetError, isJsonObject, type JsonValue, parseJson } from '@hermes-fleet/protocol';
import { APICallError, StreamProviderError } from 'ai';
import { redacted } from '../../messages/redact.ts';
import { cleanedError, withoutSecrets } from '../../messages/secrets.ts';

/** MODEL_FAILED for a refusal with an HTTP status, or no connection without one. `said` must hold no secrets (`saidBy`). */
export function providerFailure(
  status: number | undefined,
  { said, ...options }: { retryable: boolean; cause?: unknown; said?: string | undefined },
): FleetError {
  const what = status === undefined ? 'could not be reached' : `answered ${status}`;
  const hint = status === 401 || status === 403 ? '; check its key in config.yaml' : '';
  const quoted = said === undefined ? '' : `: ${said}`;
  return new FleetError('MODEL_FAILED', `the model's provider ${what}${hint}${quoted}`, options);
}

const MAX_DEPTH = 8;

/** The redirect for which a call failed, also where a provider's package has wrapped it. */
export function redirectIn(thrown: unknown): RedirectError | undefined {
  let error = thrown;
  for (let depth = 0; depth < MAX_DEPTH && error instanceof Error; depth += 1) {
    if (error instanceof RedirectError) return error;
    error = error.cause;
  }
  return undefined;
}

/** MODEL_FAILED for a redirect, which another call would meet too. Names both addresses, without `secrets`. */
export function redirectFailure(redirect: RedirectError, secrets: readonly string[]): FleetError {
  const what = withoutSecrets(redirect.message, secrets);
  const remedy = "if the second address is the provider's, set base_url in config.yaml to it";
  return new FleetError('MODEL_FAILED', `the model's provider was not called: ${what}; ${remedy}`, {
    retryable: false,
    cause: cleanedError(redirect, secrets),
  });
}

const MAX_CHARS = 300;

/** The message in a provider's JSON, in one line of at most 300 characters without secrets; undefined if there is none. */
export function saidBy(error: unknown, secrets: readonly string[]): string | undefined {
  const said = messageOf(error)?.replace(/\s+/g, ' ').trim();
  if (!said) return undefined;
  return redacted(withoutSecrets(said, secrets), MAX_CHARS);
}

function messageOf(error: unknown): string | undefined {
  if (StreamProviderError.isInstance(error)) return error.message;
  if (!APICallError.isInstance(error) || error.responseBody === undefined) return undefined;
  // Undefined for a page of a proxy: its status says as much.
  return wordsOf(parseJson(error.responseBody));
}

const WORDS = ['error', 'message', 'msg', 'detail', 'errors', 'error_message', 'error_msg'];

/** The words of an error in a provider's JSON, with the place that each is about; undefined where there are none. */
export function wordsOf(value: JsonValue | undefined, depth = 0): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
  const inner = (each: JsonValue | undefined): string | undefined => wordsOf(each, depth + 1);
  if (Array.isArray(value)) return value.flatMap((each) => inner(each) ?? []).join('; ') || undefined;
  const { loc, metadata } = value;
  const own = WORDS.map((key) => inner(value[key])).find((words) => words !== undefined);
  if (own === undefined) return undefined;
  // FastAPI names the field; a gateway quotes the provider behind it.
  const place = Array.isArray(loc) ? `${loc.join('.')}: ` : '';
  const quoted = isJsonObject(metadata) && typeof metadata.raw === 'string' ? metadata.raw : undefined;
  const behind = quoted === undefined ? undefined : inner(parseJson(quoted) ?? quoted);
  return `${place}${own}${behind === undefined ? '' : ` (${behind})`}`;
}
