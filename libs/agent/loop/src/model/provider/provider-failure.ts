import { RedirectError } from '@hermes-fleet/net';
import { FleetError, type JsonValue, parseJson } from '@hermes-fleet/protocol';
import { APICallError, StreamProviderError } from 'ai';
import { z } from 'zod';
import type { AgentConfig } from '../../config/config-yaml.ts';
import { redacted } from '../../messages/redact.ts';

/** MODEL_FAILED for a refusal with an HTTP status, or no connection without one. `said` must hold no secrets (`saidBy`). */
export function providerFailure(
  status: number | undefined,
  {
    said,
    ...options
  }: { readonly retryable: boolean; readonly cause?: unknown; readonly said?: string | undefined },
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

/** A shorter value is no secret, and replacing it would make a text unreadable. */
const MIN_CHARS = 4;
/** Most values of options and of the extra body are no secrets, but short words that errors name. */
const MIN_OPTION_CHARS = 6;

/**
 * What must not be told: the key, the values of `headers`, and texts at any depth of `provider.options` and `extra_body`.
 */
export function secretsOf(
  { headers, provider, extra_body: extra }: Pick<AgentConfig, 'headers' | 'provider' | 'extra_body'>,
  key: string | undefined,
): string[] {
  // With the words of each header, because `Bearer x` may be quoted as `x`.
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const keys = [...(key === undefined ? [] : [key]), ...values];
  const options = textsIn({ options: provider?.options ?? {}, extra }).filter(
    ({ length }) => length >= MIN_OPTION_CHARS,
  );
  return [...new Set([...keys, ...options])].toSorted((a, b) => b.length - a.length);
}

/** Cuts secrets out of a text, also as a JSON text writes them. `secrets` begins with the longest. */
const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter(({ length }) => length >= MIN_CHARS)
    .reduce(
      (rest, secret) =>
        rest.replaceAll(secret, '[redacted]').replaceAll(JSON.stringify(secret).slice(1, -1), '[redacted]'),
      text,
    );

function textsIn(value: JsonValue | Readonly<Record<string, JsonValue>>): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null
    ? Object.values(value).flatMap((each: JsonValue) => textsIn(each))
    : [];
}

const MAX_MESSAGE_CHARS = 1_000;
/** Enough for the figures of a refusal (context-overflow.ts). */
const MAX_BODY_CHARS = 20_000;

/**
 * A copy of a thrown error with its causes that may be logged: without `secrets` and what looks like one, the request and
 * the headers. The copy of an APICallError is one.
 */
export function cleanedError(error: unknown, secrets: readonly string[], depth = 0): Error {
  const thrown = error instanceof Error ? error : new Error(String(error));
  const message = redacted(withoutSecrets(thrown.message, secrets), MAX_MESSAGE_CHARS);
  const cause =
    thrown.cause === undefined || depth === MAX_DEPTH
      ? undefined
      : cleanedError(thrown.cause, secrets, depth + 1);
  const copy = APICallError.isInstance(thrown)
    ? cleanedCall(thrown, message, cause, secrets)
    : Object.assign(new Error(message, cause && { cause }), {
        name: thrown.name,
        ...('code' in thrown && { code: withoutSecrets(String(thrown.code), secrets) }),
        ...(StreamProviderError.isInstance(thrown) && { statusCode: thrown.statusCode }),
      });
  const frames = thrown.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  copy.stack = [`${copy.name}: ${message}`, withoutSecrets(frames.join('\n'), secrets)].join('\n');
  return copy;
}

function cleanedCall(
  { url, statusCode, isRetryable, responseBody }: APICallError,
  message: string,
  cause: Error | undefined,
  secrets: readonly string[],
): APICallError {
  return new APICallError({
    message,
    // Some providers take the key in the query.
    url: withoutSecrets(url.replace(/[?#].*$/s, ''), secrets),
    requestBodyValues: {},
    statusCode,
    isRetryable,
    ...(responseBody !== undefined && {
      responseBody: withoutSecrets(responseBody.slice(0, 2 * MAX_BODY_CHARS), secrets).slice(
        0,
        MAX_BODY_CHARS,
      ),
    }),
    cause,
  });
}

const MAX_CHARS = 300;

const Nested = z.object({ error: z.union([z.string(), z.looseObject({ message: z.string() })]) });
const Flat = z.union([z.object({ message: z.string() }), z.object({ detail: z.string() })]);

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
  const body = parseJson(error.responseBody);
  const nested = Nested.safeParse(Array.isArray(body) ? body[0] : body).data?.error;
  if (nested !== undefined) return typeof nested === 'string' ? nested : nested.message;
  const flat = Flat.safeParse(body).data;
  return flat && ('message' in flat ? flat.message : flat.detail);
}
