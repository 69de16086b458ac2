import { isJsonObject, type JsonObject, parseJson } from '@hermes-fleet/protocol';
import { contextOverflow } from '../../messages/context-overflow.ts';
import { wordsOf } from '../provider/provider-failure.ts';

type LimitName = 'max_tokens' | 'max_completion_tokens';
const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;

/** Parameters that a server may not know, and without which a call is as good. */
const OPTIONAL = 'stream_options parallel_tool_calls temperature tool_choice reasoning_effort strict'.split(
  ' ',
);

interface BodyChanges {
  /** Added to the JSON of every call; replaces what is there. */
  readonly extra: JsonObject;
  /** The name of the output limit that the provider is known to take; undefined for an API without this choice. */
  readonly limitName: LimitName | undefined;
  /** Told of how all later calls are sent, and of the provider's words. */
  readonly onLearnt?: (sent: object, said: string) => void;
}

/** The form of calls that refusals have taught about a model. */
interface Learnt {
  readonly limitName: LimitName | undefined;
  /** The highest output limit. */
  readonly most?: number;
  /** Parameters that are not sent. */
  readonly without: readonly string[];
}

/** More than there are parameters to learn about. */
const MAX_TRIES = 10;

/**
 * `fetch` that changes the JSON of calls. Where a provider refuses a parameter (400, 404 or 422), the call is sent again
 * without it, the output limit under its other name, or lowered to what the refusal names
 * (https://platform.openai.com/docs/api-reference/chat). Once it is answered so, all later calls are sent so.
 */
export function chatRequestFetch(
  next: typeof fetch,
  { extra, limitName, onLearnt }: BodyChanges,
): typeof fetch {
  let learnt: Learnt = { limitName, without: [] };
  return async (input, init) => {
    const body = init?.body;
    if (typeof body !== 'string') return next(input, init);
    let known = learnt;
    let tried = known;
    let said = '';
    for (let tries = 1; ; tries += 1) {
      const sent = changed(body, extra, tried);
      const response = await next(input, { ...init, body: sent });
      if (response.ok && tried !== known) {
        learnt = { ...learnt, ...tried, without: [...new Set([...learnt.without, ...tried.without])] };
        onLearnt?.(learnt, said);
      }
      if (![400, 404, 422].includes(response.status) || tries === MAX_TRIES) return response;
      said = refusalIn(await response.clone().text());
      // Another call may have learnt it by now.
      const more = learnt === known ? learntFrom(said, sent, tried, limitName) : learnt;
      known = learnt;
      if (more === undefined || changed(body, extra, more) === sent) return response;
      await response.body?.cancel();
      tried = more;
    }
  };
}

function changed(body: string, extra: JsonObject, { limitName, most, without }: Learnt): string {
  const parsed = parseJson(body);
  if (!isJsonObject(parsed)) return body;
  const all: JsonObject = { ...parsed, ...extra };
  const held = LIMITS.find((name) => name in extra) ?? LIMITS.find((name) => name in parsed);
  const limit = held === undefined ? undefined : all[held];
  const name = limitName ?? held;
  const isLess = typeof limit === 'number' && most !== undefined && most < limit;
  if (name === held && !isLess && without.length === 0 && Object.keys(extra).length === 0) return body;
  for (const key of [...LIMITS, ...without]) delete all[key];
  if (name !== undefined && limit !== undefined) all[name] = isLess ? most : limit;
  // A property of a schema that is called `strict` is an object.
  const isDropped = (key: string, value: unknown): boolean =>
    key === 'strict' && typeof value === 'boolean' && without.includes(key);
  return JSON.stringify(all, (key, value) => (isDropped(key, value) ? undefined : value));
}

const MAX_CHARS = 2_000;

/** The words of a refusal and the parameter that it names, without the request that some servers repeat in it. */
function refusalIn(body: string): string {
  const param = /"param"\s*:\s*"([^"]+)"/.exec(body)?.[1] ?? '';
  const [words = ''] = (wordsOf(parseJson(body)) ?? body).split(/["']input["']\s*:/);
  return `${words.slice(0, MAX_CHARS).replace(/(?<=\d),(?=\d{3})/g, '')} ${param}`;
}

/** The words by which a server refuses a parameter. */
const REFUSES =
  "un(?:supported|recogni[sz]ed|known|expected|defined|available)|(?:not|n't) (?:(?:yet|currently|be|an?|work) )*(?:support|accept|permit|allow|valid|recogni[sz]|implement|available|appl|compatible|exist|set\\b|with\\b)|extra (?:input|field)|additional propert|invalid|illegal|forbidden|disabled|instead|only (?:the default|be|\\d)|must be|should be|deprecated|replaced|bad param|cannot|can't|no such|no endpoints|不支持";

/** A clause about the output limit, and where it names the highest. */
const OF_LIMIT = /max_?\w*tokens|(?:completion|output|max(?:imum)?) tokens/i;
const HIGHEST =
  /(?:at most|<=|≤|than(?: or equal to)?|up to|exceeds?(?: the model limit of)?|only|>|[[(]\d+,|\b[01] ?[-~–]|(?:from|between) \d+[^.\d]{0,20} (?:to|and)|max(?:imum)?[^.\d]{0,60}|limit (?:of|is))\s*[`"']?(?:(?<=(less|lower|smaller) than [`"']?)|)(\d{3,7})\b(?: \((exclusive)\))?/gi;
/** A clause about the lowest limit. */
const LEAST = /must be greater than|at least|minimum/i;
/** No model writes less: a lower figure is another's. */
const LOWEST = 256;

/** Adds the lesson of a refusal to what was `tried`; undefined when it teaches nothing. */
function learntFrom(said: string, sent: string, tried: Learnt, first?: LimitName): Learnt | undefined {
  const parsed = parseJson(sent);
  // A conversation that is too long is made shorter.
  if (!isJsonObject(parsed) || contextOverflow({ responseBody: said, statusCode: 400 })) return undefined;
  const held = LIMITS.find((name) => name in parsed);
  const limit = held === undefined ? undefined : parsed[held];
  const clauses = said.split(/(?<=[.;])\s/).filter((clause) => OF_LIMIT.test(clause) && !LEAST.test(clause));
  const figures = [...clauses.join(' ').matchAll(HIGHEST)].map(
    ([, below, most, end]) => Number(most) - (below || end ? 1 : 0),
  );
  const fitting = figures.filter((most) => typeof limit === 'number' && most < limit && most >= LOWEST);
  if (fitting.length > 0) return { ...tried, most: Math.max(...fitting) };
  if (held !== undefined && first !== undefined && tried.limitName === first && refuses(said, held))
    return { ...tried, limitName: held === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens' };
  const isSent = (name: string): boolean => (name === 'strict' ? /"strict":/.test(sent) : name in parsed);
  const refused = OPTIONAL.find((name) => isSent(name) && refuses(said, name));
  return refused === undefined ? undefined : { ...tried, without: [...tried.without, refused] };
}

/** True where a text refuses a parameter, in whatever case it writes it. `strict` must be quoted, or in a path. */
function refuses(text: string, name: string): boolean {
  const words = name.replaceAll('_', LIMITS.some((limit) => limit === name) ? '_?' : '[_. ]?');
  // In the words of Ollama, an effort is thinking.
  const other = name === 'reasoning_effort' ? '|thinking' : '';
  const named = name === 'strict' ? '[."\'`]strict\\b' : `(?<![a-z_])(?:${words}${other})(?![a-z_])`;
  return new RegExp(`${named}[\\s\\S]{0,120}(?:${REFUSES})|(?:${REFUSES})[\\s\\S]{0,120}${named}`, 'i').test(
    text,
  );
}
