import { APICallError, StreamProviderError } from 'ai';
import { redacted } from '../../messages/redact.ts';
import { withoutSecrets } from './secrets.ts';

const MAX_DEPTH = 8;
const MAX_MESSAGE_CHARS = 1_000;
/** Enough for the figures of a refusal (context-overflow.ts). */
const MAX_BODY_CHARS = 20_000;

/**
 * A copy of what a provider's call threw, with its causes, that may be logged: no text of it holds one of `secrets`, and
 * its messages nothing that looks like one. It has neither the request nor the headers of the answer. The copy of an
 * APICallError is one.
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
