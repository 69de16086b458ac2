import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';

type LimitName = 'max_tokens' | 'max_completion_tokens';

interface BodyChanges {
  /** Added to the JSON of every call; replaces what is there. */
  readonly extra: JsonObject;
  /** The name of the output limit that the provider is known to take; undefined for an API without this choice. */
  readonly limitName: LimitName | undefined;
}

/**
 * `fetch` that changes the JSON of calls. Where a provider refuses the name of the output limit with 400
 * (https://platform.openai.com/docs/api-reference/chat), this call and all later ones are sent with the other name.
 */
export function changedBodyFetch(next: typeof fetch, { extra, limitName }: BodyChanges): typeof fetch {
  let sent = limitName;
  return async (input, init) => {
    const body = init?.body;
    if (typeof body !== 'string') return next(input, init);
    const send = () => next(input, { ...init, body: changed(body, { extra, limitName: sent }) });
    const tried = sent;
    const response = await send();
    if (response.status !== 400 || tried === undefined || !hasLimit(body)) return response;
    const other = tried === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    if (!refuses(await response.clone().text(), tried)) return response;
    await response.body?.cancel();
    sent = other;
    return send();
  };
}

const LIMITS: readonly LimitName[] = ['max_tokens', 'max_completion_tokens'];

/** The body of a call. A long conversation is not parsed where nothing changes. */
function changed(body: string, { extra, limitName }: BodyChanges): string {
  const isAsItIs = limitName === undefined || limitAhead(body) === limitName;
  if (isAsItIs && Object.keys(extra).length === 0) return body;
  const parsed: unknown = JSON.parse(body);
  return isJsonObject(parsed) ? JSON.stringify({ ...withLimit(parsed, limitName), ...extra }) : body;
}

/** The first fields of a body, as far as their values are short texts, numbers and the like. */
const AHEAD = /^\{(?:"\w+":(?:"(?:[^"\\]|\\.){0,200}"|[\w.+-]+),)*?"(max_tokens|max_completion_tokens)":/;

const limitAhead = (body: string): string | undefined => AHEAD.exec(body)?.[1];

function hasLimit(body: string): boolean {
  const parsed: unknown = JSON.parse(body);
  return isJsonObject(parsed) && LIMITS.some((name) => name in parsed);
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
