import { z } from 'zod';

/** Statuses of requests that a provider does not take as they are. */
const STATUSES: ReadonlySet<number> = new Set([400, 422]);
const MAX_TEXT = 20_000;
const MAX_CAUSES = 8;

const Refusal = z.looseObject({
  message: z.string().optional(),
  responseBody: z.string().optional(),
  statusCode: z.int().optional(),
  cause: z.unknown().optional(),
});

/** What the model wrote is refused, and not a definition: a call that does not fit the schema of its tool (Groq). */
const OF_A_CALL = /tool_use_failed|failed_generation|tool call validation|did not match (?:the )?schema/i;

/**
 * The tools whose definitions a provider refuses, by its words; empty for any other error. `names` are those of the request,
 * in its order. Of OpenAI, Azure, Anthropic, Gemini, Vertex, Groq, Mistral, vLLM, LM Studio and OpenRouter.
 */
export function refusedTools(error: unknown, names: readonly string[]): string[] {
  const text = refusalIn(error);
  if (text === undefined || OF_A_CALL.test(text)) return [];
  const byPlace = new Set(placesIn(text).map((index) => names[index]));
  return names.filter((name) => byPlace.has(name) || isNamed(text, name));
}

/** The text of a refusal, with the quotes of JSON within JSON as plain ones. */
function refusalIn(error: unknown): string | undefined {
  let next = error;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const { data } = Refusal.safeParse(next);
    if (data === undefined) return undefined;
    const { message = '', responseBody = '', statusCode, cause } = data;
    if (statusCode !== undefined)
      return STATUSES.has(statusCode)
        ? `${message}\n${responseBody}`.slice(0, MAX_TEXT).replaceAll('\\n', '\n').replaceAll('\\', '')
        : undefined;
    next = cause;
  }
  return undefined;
}

/**
 * A place in the list of tools: `tools[3].function.parameters`, `tools.3.custom.input_schema`, `["body","tools",3,"function"]`,
 * `tools[0].function_declarations[3].parameters`; without the list in LM Studio's `[3,"function","parameters"]`.
 */
const PLACE =
  /(?:(?<![\w-])(?:tools|functions|function_?declarations)\s*(?:\[\s*|[./]|,\s*|\s->\s)|\[\s*(?=\d+\s*,\s*function\s*,))(\d{1,4})\b(?=([^\n]{0,100}))/gi;
const DECLARATIONS = /\btools\W{1,4}\d+\W{1,4}(?=function_?declarations)/gi;
/** What follows the place of a definition that is refused, and not one of its switches, such as `strict`. */
const OF_DEFINITION =
  /^\W*(?:(?:function|custom|value)\b\W*)?(?:parameters|input_?schema|schema|name|description)\b/i;
/** The place alone: a definition as a whole. */
const ALONE = /^(?:\]?:|\],|\]?\.?(?:[\s}]|$))/;

function placesIn(text: string): number[] {
  const plain = text.replace(/["'`‘’“”]/g, '').replace(DECLARATIONS, '');
  return [...plain.matchAll(PLACE)].flatMap(([, index, rest = '']) =>
    OF_DEFINITION.test(rest) || ALONE.test(rest) ? [Number(index)] : [],
  );
}

/** True where the text finds fault with the tool's definition: only to have its name is not enough. */
function isNamed(text: string, name: string): boolean {
  if (!text.includes(name)) return false;
  const word = name.replace(/[^\w]/g, '\\$&');
  const quoted = `["'\`‘“]${word}["'\`’”]`;
  // A plain word is a name only in quotes.
  const named = /[_-]/.test(name) ? `(?:${quoted}|(?<![\\w-])${word}(?![\\w-]))` : quoted;
  return [
    `\\b(?:schema|definition|declaration)s?\\b[^.\\n]{0,40}\\b(?:for|of|in) (?:the )?(?:function|tool)[\\s:=]*${named}`,
    `\\b(?:function|tool)(?: definition| declaration| schema)?[\\s:=]*${named}[^.\\n]{0,80}\\b(?:schema|keyword|grammar|unsupported|not supported|invalid|parameters?|propert(?:y|ies))\\b`,
    `\\b(?:invalid|unsupported|malformed|bad|cannot (?:use|compile|parse)) (?:function|tool)(?: definition| declaration| schema)?[\\s:=]*${named}`,
    `${named}\\s*function_?declaration`,
  ].some((pattern) => new RegExp(pattern, 'i').test(text));
}
