import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@hermes-fleet/protocol';
import { contextOverflow } from '../call/context-overflow.ts';

type LimitName = 'max_tokens' | 'max_completion_tokens';
const LIMITS: readonly LimitName[] = ['max_tokens', 'max_completion_tokens'];

/** Parameters that a server may not know, and without which a call is as good. */
const OPTIONAL = [
  'stream_options',
  'parallel_tool_calls',
  'temperature',
  'tool_choice',
  'reasoning_effort',
  'strict',
] as const;

interface BodyChanges {
  /** Added to the JSON of every call; replaces what is there. */
  readonly extra: JsonObject;
  /** The name of the output limit that the provider is known to take; undefined for an API without this choice. */
  readonly limitName: LimitName | undefined;
  /** Told of what all later calls are sent otherwise. */
  readonly onLearnt?: (learnt: object) => void;
}

/** What refusals have taught about a model. */
interface Learnt {
  readonly limitName: LimitName | undefined;
  readonly isRenamed: boolean;
  /** The highest output limit. */
  readonly most: number;
  /** Parameters that are not sent. */
  readonly without: readonly string[];
}

/** A refusal is not read beyond this. */
const MAX_CHARS = 20_000;
/** More than there are parameters to learn about. */
const MAX_TRIES = 10;

/**
 * `fetch` that changes the JSON of calls. Where a provider refuses a parameter (400, 404 or 422), this call and all later
 * ones are sent without it, the output limit under its other name, or lowered to what the refusal names
 * (https://platform.openai.com/docs/api-reference/chat).
 */
export function chatRequestFetch(
  next: typeof fetch,
  { extra, limitName, onLearnt }: BodyChanges,
): typeof fetch {
  let learnt: Learnt = { limitName, isRenamed: false, most: Number.POSITIVE_INFINITY, without: [] };
  return async (input, init) => {
    const body = init?.body;
    if (typeof body !== 'string') return next(input, init);
    for (let tries = 1; ; tries += 1) {
      const sent = changed(body, extra, learnt);
      const response = await next(input, { ...init, body: sent });
      if (![400, 404, 422].includes(response.status) || tries === MAX_TRIES) return response;
      const said = (await response.clone().text()).slice(0, MAX_CHARS);
      const more = learntFrom(said, sent, learnt);
      if (more === undefined) return response;
      await response.body?.cancel();
      learnt = more;
      onLearnt?.(more);
    }
  };
}

function changed(body: string, extra: JsonObject, { limitName, most, without }: Learnt): string {
  const parsed = parseJson(body);
  if (!isJsonObject(parsed)) return body;
  const held = LIMITS.find((name) => name in parsed);
  const { [held ?? '']: limit, ...rest } = parsed;
  const name = limitName ?? held;
  const isLess = typeof limit === 'number' && most < limit;
  if (name === held && !isLess && without.length === 0 && Object.keys(extra).length === 0) return body;
  const all: JsonObject = {
    ...rest,
    ...(name !== undefined && limit !== undefined && { [name]: isLess ? most : limit }),
    ...extra,
  };
  for (const key of without) delete all[key];
  if (without.includes('strict') && Array.isArray(all.tools)) all.tools = all.tools.map(withoutStrict);
  return JSON.stringify(all);
}

function withoutStrict(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || !isJsonObject(tool.function)) return tool;
  const { strict: _, ...rest } = tool.function;
  return { ...tool, function: rest };
}

/** The words by which a server refuses a parameter. */
const REFUSES =
  /unsupported|not (?:yet )?support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|not available|extra (?:input|field)|additional propert|invalid|instead|only the default|deprecated|cannot|can't|no endpoints/i;

/** Where a refusal names the highest output limit. */
const HIGHEST =
  /(?:at most|<=|≤|less than or equal to|lower than|up to|>|\[\d+,|from \d+[^.\d]{0,20} to|max(?:imum)?[^.\d]{0,60}|limit(?:ed)?[^.\d]{0,30})\s*[`"']?(\d{2,7})\b(?: \((exclusive)\))?/gi;

/** What a refusal teaches besides; undefined when it teaches nothing. */
function learntFrom(said: string, sent: string, learnt: Learnt): Learnt | undefined {
  const parsed = parseJson(sent);
  // A conversation that is too long is made shorter (`contextOverflow`).
  if (!isJsonObject(parsed) || contextOverflow({ responseBody: said, statusCode: 400 }) !== undefined)
    return undefined;
  const held = LIMITS.find((name) => name in parsed);
  const limit = held === undefined ? undefined : parsed[held];
  if (typeof limit === 'number' && /max_?\w*tokens|(?:completion|output|max) tokens/i.test(said)) {
    const figures = [...said.matchAll(HIGHEST)].map(([, figure, end]) => Number(figure) - (end ? 1 : 0));
    const most = Math.max(0, ...figures.filter((figure) => figure < limit));
    if (most > 0) return { ...learnt, most };
  }
  if (!REFUSES.test(said)) return undefined;
  if (held !== undefined && learnt.limitName !== undefined && !learnt.isRenamed && names(said, held)) {
    const limitName = held === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    return { ...learnt, limitName, isRenamed: true };
  }
  const isSent = (name: string): boolean => (name === 'strict' ? /"strict":/.test(sent) : name in parsed);
  const refused = OPTIONAL.find((name) => isSent(name) && names(said, name));
  return refused && { ...learnt, without: [...learnt.without, refused] };
}

/** True when a text has the name of a parameter, also in another case. `strict` must be quoted, or in a path. */
const names = (text: string, name: string): boolean =>
  name === 'strict'
    ? /[."'`]strict\b/.test(text)
    : new RegExp(`(?<![a-z_])${name.replaceAll('_', '_?')}(?![a-z_])`, 'i').test(text);
