import { isJsonObject, type JsonObject, type JsonValue } from '@hermes-fleet/protocol';
import { type CallFigures, count } from '../call/call-usage.ts';

/**
 * The usage in a frame of the chat completions API, wherever its provider puts it; undefined without one. Reasoning is in the
 * output: what the total says beyond input and output is reasoning.
 */
export function usageIn(frame: JsonObject): CallFigures | undefined {
  const { usage, x_groq: groq, choices } = frame;
  const [choice] = Array.isArray(choices) ? choices : [];
  const places = [usage, inside(choice, 'usage'), inside(groq, 'usage')];
  return places.flatMap((place) => (isJsonObject(place) ? (read(place) ?? []) : [])).at(0);
}

function read(usage: JsonObject): CallFigures | undefined {
  const total = count(usage.total_tokens);
  const prompt = count(usage.prompt_tokens) ?? count(usage.input_tokens);
  const completion = count(usage.completion_tokens) ?? count(usage.output_tokens);
  const input = prompt ?? difference(total, completion);
  const others = difference(total, prompt);
  const output = completion === undefined ? others : Math.max(completion, others ?? 0);
  if (input === undefined && output === undefined) return undefined;
  const details = usage.completion_tokens_details ?? usage.output_tokens_details;
  const said = count(inside(details, 'reasoning_tokens')) ?? count(usage.reasoning_tokens) ?? 0;
  const cached = [
    inside(usage.prompt_tokens_details, 'cached_tokens'),
    inside(usage.input_tokens_details, 'cached_tokens'),
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.cache_read_input_tokens,
  ].map((value) => count(value) ?? 0);
  const beside = completion === undefined || output === undefined ? 0 : output - completion;
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    // More than was sent cannot be.
    cacheRead: Math.max(...cached.filter((each) => each <= (input ?? 0))),
    cacheWrite: count(inside(usage.prompt_tokens_details, 'cache_write_tokens')) ?? 0,
    reasoning: Math.max(said <= (output ?? 0) ? said : 0, beside),
  };
}

const inside = (value: JsonValue | undefined, key: string): JsonValue | undefined =>
  isJsonObject(value) ? value[key] : undefined;

const difference = (total: number | undefined, part: number | undefined): number | undefined =>
  total === undefined || part === undefined || total < part ? undefined : total - part;
