import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

type LimitName = 'max_tokens' | 'max_completion_tokens';

export interface BodyChanges {
  /** Added to the JSON of every call; replaces what is there. */
  readonly extra: JsonObject;
  /** The name of the output limit that the provider is known to take; undefined for an API without this choice. */
  readonly limitName: LimitName | undefined;
}

/**
 * `fetch` that changes the JSON of calls. Where the provider refuses the name of the output limit with 400 and asks for the
 * other one (https://platform.openai.com/docs/api-reference/chat), the call is sent again at once with that name, and so
 * are all later ones. The refusal costs nothing.
 */
export function changedBodyFetch(next: typeof fetch, { extra, limitName }: BodyChanges): typeof fetch {
  let sent = limitName;
  return async (input, init) => {
    const body = bodyOf(init);
    if (body === undefined) return next(input, init);
    const send = () => next(input, { ...init, body: JSON.stringify({ ...withLimit(body, sent), ...extra }) });
    const tried = sent;
    const response = await send();
    if (response.status !== 400 || tried === undefined || !LIMITS.some((name) => name in body))
      return response;
    const other = tried === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    if (!refuses(await response.clone().text(), tried)) return response;
    await response.body?.cancel();
    sent = other;
    return send();
  };
}

const LIMITS: readonly LimitName[] = ['max_tokens', 'max_completion_tokens'];

function bodyOf(init: RequestInit | undefined): JsonObject | undefined {
  if (typeof init?.body !== 'string') return undefined;
  const body: unknown = JSON.parse(init.body);
  return isJsonObject(body) ? body : undefined;
}

function withLimit(body: JsonObject, name: LimitName | undefined): JsonObject {
  if (name === undefined || name in body) return body;
  const { max_tokens: one, max_completion_tokens: two, ...rest } = body;
  const limit = one ?? two;
  return limit === undefined ? rest : { ...rest, [name]: limit };
}

/** True when an error says that this parameter is not supported or not known. */
const refuses = (text: string, name: LimitName): boolean =>
  new RegExp(`(?<![a-z_])${name}(?![a-z_])`).test(text) &&
  /unsupported|not supported|unrecognized|unknown|not permitted|instead/i.test(text);
