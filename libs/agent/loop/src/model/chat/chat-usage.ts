import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '@hermes-fleet/protocol';
import { type CallFigures, count } from '../call/call-usage.ts';

/**
 * The usage in a frame of the chat completions API, wherever its provider puts it; undefined without one. Reasoning is in the
 * output: what the total says beyond input and output is reasoning.
 */
export function usageIn(frame: JsonObject): CallFigures | undefined {
  const { usage, x_groq: groq, choices } = frame;
  const inChoices = [choices ?? []].flat().flatMap((choice) => [choice, inside(choice, 'delta')]);
  const places = [usage, ...[...inChoices, groq].map((place) => inside(place, 'usage')), frame];
  const values = places.map((place) => (typeof place === 'string' ? parseJson(place) : place));
  const found = values.flatMap((value) => (isJsonObject(value) ? (figuresOf(value) ?? []) : []));
  return found.find(({ input, output }) => input || output) ?? found[0];
}

function figuresOf(usage: JsonObject): CallFigures | undefined {
  const total = count(usage.total_tokens);
  const prompt = count(usage.prompt_tokens) ?? count(usage.input_tokens);
  const completion = count(usage.completion_tokens) ?? count(usage.output_tokens);
  const details = usage.completion_tokens_details ?? usage.output_tokens_details;
  const stated = count(inside(details, 'reasoning_tokens')) ?? count(usage.reasoning_tokens) ?? 0;
  const read = [
    inside(usage.prompt_tokens_details, 'cached_tokens'),
    inside(usage.input_tokens_details, 'cached_tokens'),
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.cache_read_input_tokens,
  ].map((value) => count(value) ?? 0);
  const written = [
    inside(usage.prompt_tokens_details, 'cache_write_tokens'),
    usage.cache_creation_input_tokens,
  ].map((value) => count(value) ?? 0);
  const [cacheRead, cacheWrite] = [Math.max(...read), Math.max(...written)];
  // Anthropic's own form counts them beside the input.
  const isOwn = usage.input_tokens !== undefined && usage.prompt_tokens === undefined && total === undefined;
  const own = (count(usage.cache_read_input_tokens) ?? 0) + (count(usage.cache_creation_input_tokens) ?? 0);
  const isBeside = isOwn || own > (prompt ?? Number.POSITIVE_INFINITY);
  const all = prompt !== undefined && isBeside ? prompt + cacheRead + cacheWrite : prompt;
  // A total alone is what was sent and answered.
  const input = all ?? (completion === undefined ? total || undefined : difference(total, completion));
  const others = difference(total, all);
  const output = completion === undefined ? others : Math.max(completion, others ?? 0);
  if (input === undefined && output === undefined) return undefined;
  const beside = completion === undefined || output === undefined ? 0 : output - completion;
  const isInside = cacheRead + cacheWrite <= (input ?? 0);
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    cacheRead: isInside ? cacheRead : 0,
    cacheWrite: isInside ? cacheWrite : 0,
    reasoning: Math.max(stated <= (output ?? 0) ? stated : 0, beside),
  };
}

/** The value of a key; undefined in anything but an object. */
export const inside = (value: JsonValue | undefined, key: string): JsonValue | undefined =>
  isJsonObject(value) ? value[key] : undefined;

const difference = (total: number | undefined, part: number | undefined): number | undefined =>
  total === undefined || part === undefined || total < part ? undefined : total - part;
