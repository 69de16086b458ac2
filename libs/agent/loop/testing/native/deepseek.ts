import { answering, calledAssistant, chat, inPackage, PLAIN } from './chat.ts';
import { type Dialect, USAGE } from './dialect.ts';

export const deepseek: Dialect = {
  ...chat,
  provider: 'DeepSeek',
  package: '@ai-sdk/deepseek',
  config: inPackage('deepseek-reasoner', 'deepseek'),
  base: '',
  path: '/chat/completions',
  answer: answering({
    think: (reasoning_content) => ({ reasoning_content }),
    usage: {
      ...PLAIN,
      prompt_cache_hit_tokens: USAGE.cached,
      prompt_cache_miss_tokens: USAGE.fresh,
      completion_tokens_details: { reasoning_tokens: USAGE.thought },
    },
  }),
  refusal: { body: { error: { message: 'Rate limit reached', type: 'rate_limit_error', code: null } } },
  saysWait: false,
  returned: (body) => calledAssistant(body)?.reasoning_content,
  thought: 'I think 1.',
};
