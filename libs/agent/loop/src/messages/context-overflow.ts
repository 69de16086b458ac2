import { z } from 'zod';

/** What a provider said when it refused a request that is too long for the model. Every figure may be missing. */
export interface ContextOverflow {
  /** The model's context window, or the most input that it takes. */
  readonly limit?: number;
  /** The input tokens of the request, as the provider counts them. */
  readonly input?: number;
}

/** Statuses of such refusals; an error inside a stream has none. 429 is a limit of rate, whatever its text says. */
const STATUSES: ReadonlySet<number> = new Set([400, 413, 422, 500]);
/** A body too large for the server needs no text; a small one is refused for another reason. */
const TOO_LARGE = 413;

/** Of OpenAI, Azure, vLLM, DeepSeek, OpenRouter, Groq, Anthropic, Gemini, xAI, llama.cpp, LM Studio, Ollama and SGLang. */
const TEXTS: readonly RegExp[] = [
  /context_length_exceeded|exceed_context_size_error/i,
  /(?:maximum|max|model's) context length (?:is|of)(?: only)? \d/i,
  /context length is only \d+/i,
  /exceeds? the (?:available )?context (?:window|size|length)/i,
  /exceed(?:s|ed)? (?:the )?(?:model's )?(?:max(?:imum)? )?context (?:limit|length)/i,
  /prompt is too long/i,
  /prompt too long/i,
  /maximum prompt length is \d+/i,
  /input token count[^.]{0,40}exceeds the maximum/i,
  /reduce the length of the (?:messages|input|prompt)/i,
  /is (?:greater|longer) than the (?:model's )?context length/i,
  /input is too long for requested model/i,
];

/** Where the texts name the limit: the first group. */
const LIMITS: readonly RegExp[] = [
  /context length (?:is|of)(?: only)? (\d+)/i,
  /maximum prompt length is (\d+)/i,
  /tokens > (\d+) maximum/i,
  /exceed context limit: \d+ \+ \d+ > (\d+)/i,
  /available context size \((\d+)/i,
  /"n_ctx"\s*:\s*(\d+)/,
  /maximum number of tokens allowed \((\d+)/i,
];

/** Where they name the input: the first group. A sum of input and answer is no input. */
const INPUTS: readonly RegExp[] = [
  /(\d+) (?:tokens )?(?:in|of) (?:the messages|your prompt|the prompt|text input)/i,
  /(?:has|passed|contains) (\d+) (?:input )?tokens/i,
  /messages resulted in (\d+) tokens/i,
  /too long: (\d+) tokens/i,
  /exceed context limit: (\d+) \+/i,
  /request \((\d+) tokens\) exceeds/i,
  /"n_prompt_tokens"\s*:\s*(\d+)/,
  /input token count \((\d+)\)/i,
];

const Failure = z.looseObject({
  message: z.string().optional(),
  responseBody: z.string().optional(),
  statusCode: z.int().optional(),
  code: z.unknown().optional(),
  cause: z.unknown().optional(),
  lastError: z.unknown().optional(),
  error: z.unknown().optional(),
});

const MAX_DEPTH = 8;
const MAX_TEXT = 20_000;
const MAX_TOKENS = 100_000_000;

/** Recognizes, in an error or its causes, a refusal of what does not fit the window; undefined for any other error. */
export function contextOverflow(error: unknown): ContextOverflow | undefined {
  let next: unknown[] = [error];
  for (let depth = 0; depth < MAX_DEPTH && next.length > 0; depth += 1) {
    const failures = next.flatMap((each) => failuresIn(each));
    for (const failure of failures) {
      const found = overflowOf(failure);
      if (found !== undefined) return found;
    }
    next = failures.flatMap(({ cause, lastError, error: inner }) => [cause, lastError, inner]);
  }
  return undefined;
}

function failuresIn(error: unknown): z.output<typeof Failure>[] {
  const parsed = Failure.safeParse(error);
  return parsed.success ? [parsed.data] : [];
}

function overflowOf(failure: z.output<typeof Failure>): ContextOverflow | undefined {
  const { message = '', responseBody = '', statusCode, code } = failure;
  if (statusCode !== undefined && !STATUSES.has(statusCode)) return undefined;
  const text = `${message}\n${String(code ?? '')}\n${responseBody}`.slice(0, MAX_TEXT);
  if (statusCode !== TOO_LARGE && !TEXTS.some((pattern) => pattern.test(text))) return undefined;
  const limit = figure(text, LIMITS);
  const input = figure(text, INPUTS);
  return { ...(limit !== undefined && { limit }), ...(input !== undefined && { input }) };
}

function figure(text: string, patterns: readonly RegExp[]): number | undefined {
  for (const pattern of patterns) {
    const found = Number(pattern.exec(text)?.[1]);
    if (Number.isSafeInteger(found) && found > 0 && found <= MAX_TOKENS) return found;
  }
  return undefined;
}
