import { z } from 'zod';

const tokens = z.number().nullish();
const Usage = z.object({
  input_tokens: tokens,
  output_tokens: tokens,
  cache_read_input_tokens: tokens,
  cache_creation_input_tokens: tokens,
});
type Usage = z.output<typeof Usage>;

const Event = z.looseObject({
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

const Whole = z.looseObject({
  usage: Usage.optional(),
  content: z.array(z.looseObject({})).default([]),
  stop_reason: z.string().nullish(),
});

/** Longer than any event or answer that a provider sends. */
const MAX_CHARS = 64 * 1024 * 1024;

/** What arrived of an answer of the Messages API. */
export interface Arrived {
  /** Text, thinking and the inputs of calls. */
  readonly text: string;
  /** The provider's figures, the last word on each; undefined before it said anything. */
  readonly usage: Readonly<Record<keyof Usage, number>> | undefined;
  /** Why the model stopped, in the provider's word. */
  readonly stop: string | undefined;
  /** It came to its end, and the figures are the bill. */
  readonly complete: boolean;
  /** The provider took the call. */
  readonly began: boolean;
}

export interface AnswerTally {
  /** Takes what came in and returns the text in it. Throws when the answer is longer than any can be. */
  push(chunk: Uint8Array): string;
  /** Nothing more comes. */
  end(): Omit<Arrived, 'began'>;
}

/** Reads along an answer of the Messages API, streamed or whole. What is no event of it is passed over. */
export function tallyAnswer(streamed: boolean): AnswerTally {
  const decoder = new TextDecoder();
  let pending = '';
  let text = '';
  let usage: Arrived['usage'];
  let complete = false;
  let stop: string | undefined;

  function note(found: Usage | undefined): void {
    if (found === undefined) return;
    const before = usage ?? NOTHING;
    usage = {
      input_tokens: found.input_tokens ?? before.input_tokens,
      output_tokens: found.output_tokens ?? before.output_tokens,
      cache_read_input_tokens: found.cache_read_input_tokens ?? before.cache_read_input_tokens,
      cache_creation_input_tokens: found.cache_creation_input_tokens ?? before.cache_creation_input_tokens,
    };
  }

  function take(line: string): string {
    if (!line.startsWith('data:')) return '';
    const event = Event.safeParse(parsed(line.slice('data:'.length)));
    if (!event.success) return '';
    const { type, message, delta } = event.data;
    note(message?.usage ?? event.data.usage);
    if (type === 'message_delta') complete = usage !== undefined;
    stop = delta?.stop_reason ?? stop;
    return delta?.text ?? delta?.thinking ?? delta?.partial_json ?? '';
  }

  return {
    push(chunk) {
      pending += decoder.decode(chunk, { stream: true });
      if (pending.length + text.length > MAX_CHARS) throw new Error('the answer is longer than any can be');
      if (!streamed) return '';
      const lines = pending.split(/\r?\n/);
      pending = lines.pop() ?? '';
      const added = lines.map(take).join('');
      text += added;
      return added;
    },
    end() {
      if (streamed) return { text, usage, stop, complete };
      const whole = Whole.safeParse(parsed(pending));
      if (!whole.success) return { text: pending, usage, stop, complete: false };
      note(whole.data.usage);
      const { content, stop_reason } = whole.data;
      return {
        text: JSON.stringify(content),
        usage,
        stop: stop_reason ?? undefined,
        complete: usage !== undefined,
      };
    },
  };
}

const NOTHING = {
  input_tokens: 0,
  output_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
