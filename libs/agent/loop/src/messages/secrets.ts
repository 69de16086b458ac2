import type { JsonValue } from '@hermes-fleet/protocol';
import { APICallError, StreamProviderError } from 'ai';
import type { AgentConfig } from '../config/config-yaml.ts';
import { redacted } from './redact.ts';

/** A shorter value is no secret, and replacing it would make a text unreadable. */
const MIN_CHARS = 4;
/** Most values of options and of the extra body are no secrets, but short words that errors name. */
const MIN_OPTION_CHARS = 6;

/**
 * The texts that must not be told: the key, the values of `headers`, and texts at any depth of `provider.options` and `extra_body`.
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
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
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

const MAX_DEPTH = 8;
const MAX_MESSAGE_CHARS = 1_000;
/** Enough for the figures of a refusal (`contextOverflow`). */
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
