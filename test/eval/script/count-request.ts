import type { ChatRequest } from '@hermes-fleet/loop/testing';
import { countTokens } from '@hermes-fleet/protocol/tokens';
import { z } from 'zod';

/** What a chat template adds to each message, in tokens. */
const MESSAGE_TOKENS = 4;

const Content = z.union([z.string(), z.array(z.looseObject({ text: z.string().default('') }))]);
const Calls = z.array(
  z.looseObject({ function: z.looseObject({ name: z.string(), arguments: z.string() }) }),
);

type Message = ChatRequest['messages'][number];

/** The text of a message, without its tool calls. */
export function textOf(message: Message | undefined): string {
  const { data = '' } = Content.safeParse(message?.content);
  return typeof data === 'string' ? data : data.map(({ text }) => text).join('');
}

/** Counts the input tokens of requests, as a server that knows the tokenizer. Each text is tokenized once. */
export function createRequestCounter(): (request: ChatRequest) => Promise<number> {
  const known = new Map<string, number>();
  async function count(text: string): Promise<number> {
    const tokens = known.get(text) ?? (await countTokens(text));
    known.set(text, tokens);
    return tokens;
  }
  return async ({ messages, tools = [] }) => {
    let sum = await count(JSON.stringify(tools));
    for (const message of messages) {
      const { data: calls = [] } = Calls.safeParse(message.tool_calls);
      sum += MESSAGE_TOKENS + (await count(textOf(message)));
      for (const { function: called } of calls) sum += await count(`${called.name} ${called.arguments}`);
    }
    return sum;
  };
}
