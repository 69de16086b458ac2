import type { JsonValue } from '@hermes-fleet/protocol';
import type { AgentConfig } from '../../config/config.ts';

/** A shorter value is no secret, and replacing it would make a text unreadable. */
const MIN_CHARS = 4;
/** Most values of options and of the extra body are no secrets, but short words that errors name. */
const MIN_OPTION_CHARS = 6;

/**
 * What must not be told of a model's configuration: its key, the values of `headers`, and the texts in `provider.options`
 * and `extra_body`, at any depth.
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
