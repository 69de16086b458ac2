import { z } from 'zod';

/** Statuses of requests that a provider does not take as they are. */
const STATUSES: ReadonlySet<number> = new Set([400, 422]);
const MAX_TEXT = 20_000;
const MAX_CAUSES = 8;
/** So much of a sentence before a fault is read. */
const MAX_BEFORE = 80;

const Refusal = z.looseObject({
  message: z.string().optional(),
  responseBody: z.string().optional(),
  statusCode: z.int().optional(),
  cause: z.unknown().optional(),
});

/** Words of a refusal of what the model wrote, not of a definition: its call does not fit the schema (Groq). */
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
/** A place with two numbers: the second counts, or the first where a gateway sends each tool as an entry of its own. */
const DECLARATIONS = /\btools\W{1,4}(\d+)\W{1,4}function_?declarations\W{1,4}(\d+)/gi;
/** The text after the place of a refused definition, as opposed to one of its switches, such as `strict`. */
const OF_DEFINITION =
  /^\W*(?:(?:function|custom|value)\b\W*)?(?:parameters|input_?schema|schema|name|description)\b/i;
/** The place alone: a definition as a whole. */
const ALONE = /^(?:\]?(?:\.custom)?:|\],|\]?\.?(?:[\s}]|$))/;

function placesIn(text: string): number[] {
  const plain = text.replace(/["'`‘’“”]/g, '').replace(DECLARATIONS, (_all, entry: string, index: string) => {
    if (Number(entry) === 0) return `tools[${index}`;
    return Number(index) === 0 ? `tools[${entry}` : '';
  });
  return [...plain.matchAll(PLACE)].flatMap(([, index, rest = '']) =>
    OF_DEFINITION.test(rest) || ALONE.test(rest) ? [Number(index)] : [],
  );
}

/** Words of a fault of a call, or of a parameter beside the definitions. */
const OF_CALLS =
  /\b(?:arguments?|args|calls?|called|calling|received|input(?![ _]?schema)|tool_choice|parallel|responses?|results?|conform|do(?:es)? not match|not (?:found|in|available))\b/i;

/** True where the text finds fault with the tool's definition: only to have its name is not enough. */
function isNamed(text: string, name: string): boolean {
  if (!text.includes(name)) return false;
  const word = name.replace(/[^\w]/g, '\\$&');
  const quoted = `["'\`‘“]${word}["'\`’”]`;
  // A plain word is a name only in quotes.
  const named = /[_-]/.test(name) ? `(?:${quoted}|(?<![\\w-])${word}(?![\\w-]))` : quoted;
  const tool = `(?:function|tool)(?: definition| declaration| schema)?[\\s:=]*${named}`;
  const faults = [
    `\\b(?:schema|definition|declaration|parameter)s?\\b[^.\\n]{0,40}\\b(?:for|of|in) (?:the )?(?:function|tool)[\\s:=]*${named}`,
    `\\b${tool}[^.\\n]{0,80}?\\b(?:schema|keyword|grammar|unsupported|not supported|invalid (?:parameters|properties)|(?:parameters|properties) (?:are|is) invalid)\\b`,
    `\\b(?:invalid|unsupported|malformed|bad|cannot (?:use|compile|parse)) ${tool}[^.:\\n]{0,40}`,
    `${named}\\s*function_?declaration`,
  ];
  return faults.some((fault) =>
    [...text.matchAll(new RegExp(fault, 'gi'))].some(
      ({ 0: said, index }) => !OF_CALLS.test(`${sentenceBefore(text, index)}${said}`),
    ),
  );
}

function sentenceBefore(text: string, index: number): string {
  const before = text.slice(Math.max(0, index - MAX_BEFORE), index);
  return before.slice(Math.max(before.lastIndexOf('.'), before.lastIndexOf('\n')) + 1);
}
