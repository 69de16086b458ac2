import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { wrapLanguageModel } from 'ai';

/** https://docs.claude.com/en/docs/build-with-claude/prompt-caching: kept for five minutes after the last use. */
const BREAKPOINT = { anthropic: { cacheControl: { type: 'ephemeral' } } };

/**
 * Marks what Anthropic keeps for the next call: tools and system prompt, the conversation, and the message before the last
 * answer, where the call before ended.
 */
export function withPromptCache(model: LanguageModelV4): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }): Promise<LanguageModelV4CallOptions> => ({
        ...params,
        prompt: withBreakpoints(params.prompt),
      }),
    },
  });
}

function withBreakpoints(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const system = prompt.findLastIndex(({ role }) => role === 'system');
  const last = prompt.length - 1;
  const before = prompt.findLastIndex(({ role }) => role === 'assistant') - 1;
  const marked = new Set([system, before, last].filter((index) => index >= 0));
  return prompt.map((message, index) => (marked.has(index) ? withBreakpoint(message) : message));
}

const withBreakpoint = (message: LanguageModelV4Message): LanguageModelV4Message => ({
  ...message,
  providerOptions: { ...message.providerOptions, ...BREAKPOINT },
});
