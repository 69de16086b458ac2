import { parseJson } from '@hermes-fleet/protocol';
import { z } from 'zod';

const tokens = z.number().nullish();
const Usage = z.object({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
});
type Usage = z.output<typeof Usage>;

const StreamEvent = z.looseObject({
  type: z.string(),
  message: z.looseObject({ usage: Usage.optional() }).optional(),
  usage: Usage.optional(),
  delta: z
    .looseObject({
      text: z.string().optional(),
      thinking: z.string().optional(),
      partial_json: z.string().optional(),
      stop_reason: z.string().nullish(),
    })
    .optional(),
});

const WholeResponse = z.looseObject({
  usage: Usage.optional(),
  content: z.array(z.looseObject({})).default([]),
  stop_reason: z.string().nullish(),
});

/** Longer than any response of a provider. */
const MAX_CHARS = 64 * 1024 * 1024;

/** The received part of a response of the Messages API. */
export interface ReceivedResponse {
  /** Text, thinking and the inputs of calls. */
  readonly text: string;
  /** The provider's latest figures; undefined before the first. */
  readonly usage: Readonly<Record<keyof Usage, number>> | undefined;
  /** The provider's `stop_reason`. */
  readonly stopReason: string | undefined;
  /** The response is whole, so the figures are final. */
  readonly complete: boolean;
}

/** Parses a response of the Messages API while it is relayed, streamed or whole. Ignores unknown events. */
export function createResponseParser(isStreamed: boolean) {
  const decoder = new TextDecoder();
  let pending = '';
  let text = '';
  let usage: ReceivedResponse['usage'];
  let complete = false;
  let stopReason: string | undefined;

  function mergeUsage(found: Usage | undefined): void {
    if (found === undefined) return;
    const merged = { ...NO_USAGE, ...usage };
    for (const name of USAGE_FIELDS) merged[name] = found[name] ?? merged[name];
    usage = merged;
  }

  function parseLine(line: string): string {
    if (!line.startsWith('data:')) return '';
    const event = StreamEvent.safeParse(parseJson(line.slice('data:'.length)));
    if (!event.success) return '';
    const { type, message, delta } = event.data;
    mergeUsage(message?.usage ?? event.data.usage);
    if (type === 'message_delta') complete = usage !== undefined;
    stopReason = delta?.stop_reason ?? stopReason;
    return delta?.text ?? delta?.thinking ?? delta?.partial_json ?? '';
  }

  return {
    /** Parses a chunk and returns the text in it. Throws when the response exceeds 64 Mi characters. */
    push(chunk: Uint8Array): string {
      pending += decoder.decode(chunk, { stream: true });
      if (pending.length + text.length > MAX_CHARS)
        throw new Error(`the provider's response exceeds ${MAX_CHARS} characters`);
      if (!isStreamed) return '';
      const lines = pending.split(/\r?\n/);
      pending = lines.pop() ?? '';
      const added = lines.map(parseLine).join('');
      text += added;
      return added;
    },
    end(): ReceivedResponse {
      if (isStreamed) return { text, usage, stopReason, complete };
      const whole = WholeResponse.safeParse(parseJson(pending));
      if (!whole.success) return { text: pending, usage, stopReason, complete: false };
      mergeUsage(whole.data.usage);
      const { content, stop_reason } = whole.data;
      return {
        text: JSON.stringify(content),
        usage,
        stopReason: stop_reason ?? undefined,
        complete: usage !== undefined,
      };
    },
  };
}

const USAGE_FIELDS = Usage.keyof().options;
const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};
